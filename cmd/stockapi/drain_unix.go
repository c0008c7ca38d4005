//go:build unix

package main

import (
	"net"
	"os"
	"syscall"
)

// Package net cannot look at a socket without waiting: with a time limit that is over it does not look, and with another
// it may wait, and on a busy machine be told that the limit is over before it is told what has come.

// acceptNow accepts who is in the listener's queue. It does not wait.
func acceptNow(l *net.TCPListener) (*net.TCPConn, bool) {
	raw, err := l.SyscallConn()
	if err != nil {
		return nil, false
	}
	fd := -1
	err = raw.Control(func(listener uintptr) {
		syscall.ForkLock.RLock() // no child of ours may inherit it
		defer syscall.ForkLock.RUnlock()
		if fd, _, _ = syscall.Accept(int(listener)); fd >= 0 {
			syscall.CloseOnExec(fd)
		}
	})
	if err != nil || fd < 0 {
		return nil, false
	}
	file := os.NewFile(uintptr(fd), "accepted")
	defer file.Close() // FileConn has one of its own
	accepted, _ := net.FileConn(file)
	c, ok := accepted.(*net.TCPConn)
	return c, ok
}

// readNow reads what has come on a connection, and returns 0 if that is nothing. It does not wait.
func readNow(c *net.TCPConn, b []byte) (n int) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0
	}
	_ = raw.Control(func(fd uintptr) { n, _ = syscall.Read(int(fd), b) })
	return max(n, 0)
}
