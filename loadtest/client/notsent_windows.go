package client

import "syscall"

// shortages are the errors of a client that has no socket, no local port, or no buffer left: WSAEMFILE,
// WSAEADDRNOTAVAIL and WSAENOBUFS.
var shortages = []error{syscall.Errno(10024), syscall.Errno(10049), syscall.Errno(10055)}
