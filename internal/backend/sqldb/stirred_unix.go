//go:build unix

package sqldb

import (
	"errors"
	"net"
	"syscall"
)

// stirred reports whether anything came over a connection while it rested: its end, or a last word of its server. It
// asks the system and not the server, and takes nothing away.
func stirred(c net.Conn) bool {
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
	var came error
	err = raw.Control(func(fd uintptr) {
		_, _, came = syscall.Recvfrom(int(fd), make([]byte, 1), syscall.MSG_PEEK) // Go's sockets do not block
	})
	return err != nil || !errors.Is(came, syscall.EAGAIN)
}
