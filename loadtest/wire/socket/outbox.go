// Package socket has what a wire needs of sockets: one that sends without waiting for its reader, and what the system
// knows of one.
package socket

import (
	"errors"
	"net"
	"os"
	"sync"
	"time"

	"stockapi/loadtest/wire/resp"
)

const (
	// promptly is how long a write may wait for a client that does not read, before it continues in the background.
	promptly = 20 * time.Millisecond
	// lastly is how long the remaining bytes may take when a connection closes.
	lastly = time.Second
	// maxUnread bounds the bytes that wait for a client.
	maxUnread = 4 * resp.MaxSize
)

// An Outbox sends to a client, and buffers what the client does not read. Servers do so too, as many clients send a
// whole pipeline before they read.
type Outbox struct {
	net.Conn
	All *sync.WaitGroup // has what it does in the background

	mu     sync.Mutex
	unread []byte
	drains bool // in the background
	ended  bool
}

// Put sends bytes.
func (o *Outbox) Put(b []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ended {
		return
	}
	if !o.drains {
		_ = o.SetWriteDeadline(time.Now().Add(promptly))
		n, err := o.Write(b)
		b = b[n:]
		if err == nil || !errors.Is(err, os.ErrDeadlineExceeded) {
			return // or the client has gone, which its reader reports
		}
		_ = o.SetWriteDeadline(time.Time{})
		o.drains = true
		o.All.Go(o.drain)
	}
	if len(o.unread)+len(b) > maxUnread {
		_ = o.Close()
		return
	}
	o.unread = append(o.unread, b...)
}

// drain sends the buffered bytes.
func (o *Outbox) drain() {
	for {
		o.mu.Lock()
		b := o.unread
		o.unread, o.drains = nil, len(b) > 0
		ended := o.ended
		o.mu.Unlock()
		if len(b) == 0 {
			if ended {
				_ = o.Close()
			}
			return
		}
		if _, err := o.Write(b); err != nil {
			_ = o.Close()
			return
		}
	}
}

// Shut closes the connection once all is sent.
func (o *Outbox) Shut() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ended = true
	_ = o.SetReadDeadline(time.Now()) // stop reading
	if o.drains {
		_ = o.SetWriteDeadline(time.Now().Add(lastly))
		return
	}
	_ = o.Close()
}

// Reset breaks the connection, as when the server is gone.
func (o *Outbox) Reset() {
	if tcp, ok := o.Conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = o.Close()
}
