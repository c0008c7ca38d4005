//go:build unix

package client

import "syscall"

// shortages are the errors of a client that has no file descriptor, local port, or buffer left.
var shortages = []error{
	syscall.EMFILE, syscall.ENFILE, syscall.EADDRNOTAVAIL, syscall.ENOBUFS, syscall.ENOMEM,
}
