package wire

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

// An outbox sends to a client, and buffers what the client does not read. Servers do so too, as many clients send a
// whole pipeline before they read.
type outbox struct {
	net.Conn
	all *sync.WaitGroup // of its wire

	mu     sync.Mutex
	unread []byte
	drains bool // in the background
	ended  bool
}

// put sends bytes.
func (o *outbox) put(b []byte) {
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
		o.all.Go(o.drain)
	}
	if len(o.unread)+len(b) > maxUnread {
		_ = o.Close()
		return
	}
	o.unread = append(o.unread, b...)
}

// drain sends the buffered bytes.
func (o *outbox) drain() {
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

// shut closes the connection once all is sent.
func (o *outbox) shut() {
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

// reset breaks the connection, as when the server is gone.
func (o *outbox) reset() {
	if tcp, ok := o.Conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = o.Close()
}
