//go:build !unix

package main

import "net"

// acceptNow does nothing on this system: a connection made at the moment when the port closes may be reset.
func acceptNow(*net.TCPListener) (*net.TCPConn, bool) { return nil, false }

// readNow does nothing on this system: a request that arrives at the moment when an unused connection ends may be lost.
func readNow(*net.TCPConn, []byte) int { return 0 }
