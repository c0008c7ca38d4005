package shop

import "syscall"

// lacks are the errors of a client that has no socket, no local port, or no buffer left: WSAEMFILE, WSAEADDRNOTAVAIL
// and WSAENOBUFS.
var lacks = []error{syscall.Errno(10024), syscall.Errno(10049), syscall.Errno(10055)}
