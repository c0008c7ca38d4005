package client

import "syscall"

// shortages are the errors of a client without a free socket, local port, or buffer: WSAEMFILE, WSAEADDRNOTAVAIL and
// WSAENOBUFS.
var shortages = []error{syscall.Errno(10024), syscall.Errno(10049), syscall.Errno(10055)}
