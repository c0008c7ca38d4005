//go:build unix

package shop

import "syscall"

// lacks are the errors of a client that has no file descriptor, no local port, or no buffer left.
var lacks = []error{
	syscall.EMFILE, syscall.ENFILE, syscall.EADDRNOTAVAIL, syscall.ENOBUFS, syscall.ENOMEM,
}
