//go:build unix

package client

import "syscall"

// shortages are the errors of a client without a free file descriptor, local port, or buffer.
var shortages = []error{
	syscall.EMFILE, syscall.ENFILE, syscall.EADDRNOTAVAIL, syscall.ENOBUFS, syscall.ENOMEM,
}
