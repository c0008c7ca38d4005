//go:build unix

package main

import (
	"net"
	"os"
	"syscall"
)

// Package net cannot poll a socket: with an expired deadline it does not try, and with another one it may wait. On a
// busy machine the deadline may also expire before the data is noticed.

// acceptNow accepts a connection from the listener's queue. It does not wait.
func acceptNow(l *net.TCPListener) (*net.TCPConn, bool) {
	raw, err := l.SyscallConn()
	if err != nil {
		return nil, false
	}
	fd := -1
	err = raw.Control(func(listener uintptr) {
		syscall.ForkLock.RLock() // no child process may inherit it
		defer syscall.ForkLock.RUnlock()
		if fd, _, _ = syscall.Accept(int(listener)); fd >= 0 {
			syscall.CloseOnExec(fd)
		}
	})
	if err != nil || fd < 0 {
		return nil, false
	}
	file := os.NewFile(uintptr(fd), "accepted")
	defer file.Close() // FileConn duplicates it
	accepted, _ := net.FileConn(file)
	c, ok := accepted.(*net.TCPConn)
	return c, ok
}

// readNow reads the data that has arrived on a connection, and returns 0 if there is none. It does not wait.
func readNow(c *net.TCPConn, b []byte) (n int) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0
	}
	_ = raw.Control(func(fd uintptr) { n, _ = syscall.Read(int(fd), b) })
	return max(n, 0)
}
