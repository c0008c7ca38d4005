package backend

import (
	"context"
	"crypto/tls"
	"net"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
)

// Before go-redis uses an idle connection it peeks at the socket, and replaces a connection that the server has closed.
// Otherwise the next command on it is lost, with an unknown outcome. But go-redis finds no socket in a
// *tls.Conn, and does not peek on Windows.

type dialer func(ctx context.Context, network, addr string) (net.Conn, error)

// dialer returns how to connect with these settings for TLS. Nil: as go-redis does.
func (o Options) dialer(settings *tls.Config) dialer {
	if o.Dialer != nil || settings == nil {
		return o.Dialer
	}
	dial := redis.NewDialer(&redis.Options{DialTimeout: o.Timeout, TLSConfig: settings})
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return peekable{conn.(*tls.Conn)}, nil // as there are settings for TLS
	}
}

// peekable is a TLS connection that shows its socket. While a connection is idle its socket is unreadable: with RESP2 a
// server sends nothing unsolicited, and the session tickets of the handshake were read before the first reply. A
// connection that was opened in advance and never used still has these tickets to read, so it is replaced. That costs a
// handshake and no command.
type peekable struct{ *tls.Conn }

// SyscallConn is part of syscall.Conn.
func (c peekable) SyscallConn() (syscall.RawConn, error) {
	return c.NetConn().(syscall.Conn).SyscallConn() // a *net.TCPConn or *net.UnixConn
}

// idleTime is Windows' default limit for an idle connection.
const idleTime = time.Minute

// maxIdle returns how long a connection may be idle, for a URL that says asked, or 0 if it does not.
func maxIdle(system string, asked time.Duration) time.Duration {
	if asked == 0 && system == "windows" {
		return idleTime
	}
	return asked
}
