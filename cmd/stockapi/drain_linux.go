package main

import (
	"net"
	"os"
	"syscall"
)

// acceptNow accepts who is in the listener's queue, without waiting. [net.TCPListener.AcceptTCP] cannot: with a time limit
// that is over it does not look, and with another it may wait.
func acceptNow(l *net.TCPListener) (*net.TCPConn, bool) {
	raw, err := l.SyscallConn()
	if err != nil {
		return nil, false
	}
	fd := -1
	err = raw.Control(func(listener uintptr) {
		fd, _, _ = syscall.Accept4(int(listener), syscall.SOCK_NONBLOCK|syscall.SOCK_CLOEXEC)
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
