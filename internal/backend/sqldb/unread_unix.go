//go:build unix

package sqldb

import (
	"errors"
	"net"
	"syscall"
)

// hasUnread reports whether data or an end of file has arrived on an idle connection. It only peeks, and asks the
// system rather than the server.
func hasUnread(c net.Conn) bool {
	if encrypted, is := c.(interface{ NetConn() net.Conn }); is {
		c = encrypted.NetConn()
	}
	socket, is := c.(syscall.Conn)
	if !is {
		return true
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return true
	}
	var received error
	err = raw.Control(func(fd uintptr) {
		_, _, received = syscall.Recvfrom(int(fd), make([]byte, 1), syscall.MSG_PEEK) // Go's sockets do not block
	})
	return err != nil || !errors.Is(received, syscall.EAGAIN)
}
