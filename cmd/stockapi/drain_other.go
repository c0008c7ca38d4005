//go:build !linux

package main

import "net"

// acceptNow can do nothing here: who connects at the very moment when the port closes may be reset.
func acceptNow(*net.TCPListener) (*net.TCPConn, bool) { return nil, false }
