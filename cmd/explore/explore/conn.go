package explore

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2/server"

	"stockapi/loadtest/schedule"
)

// A conn is an in-memory connection to one server. A request is carried out while it is written, so its reply can be
// read at once: the server has no goroutine, and nothing happens between two steps. Messages of a subscription arrive
// later, and each waits at the gate.
type conn struct {
	gate   *gate
	client *client
	server *store
	peer   *server.Peer

	request bytes.Buffer // the part of a request received so far
	until   time.Time    // the deadline for reads

	mu       sync.Mutex
	replies  bytes.Buffer
	closed   bool
	gone     chan struct{} // closed with the connection
	came     chan struct{} // holds a notice that there is something to read
	channels []string      // that the client has subscribed to
	late     *bytes.Buffer // for the replies to late requests
}

func newConn(g *gate, c *client, s *store) *conn {
	conn := &conn{gate: g, client: c, server: s, gone: make(chan struct{}), came: make(chan struct{}, 1)}
	conn.peer = server.NewPeer(bufio.NewWriterSize(replyWriter{conn}, 512))
	return conn
}

// A replyWriter receives what the server sends.
type replyWriter struct{ *conn }

func (w replyWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.late != nil {
		return w.late.Write(p)
	}
	if w.closed {
		return 0, net.ErrClosed
	}
	select {
	case w.came <- struct{}{}:
	default:
	}
	return w.replies.Write(p)
}

// Write carries out each complete request.
func (c *conn) Write(p []byte) (int, error) {
	if c.isClosed() {
		return 0, net.ErrClosed
	}
	c.request.Write(p)
	for {
		args, size, err := schedule.ParseCommand(c.request.Bytes())
		if err != nil {
			return 0, err
		}
		if size == 0 {
			c.endDelay()
			return len(p), nil
		}
		c.request.Next(size)
		if len(args) == 2 && args[0] == "hello" && args[1] == "2" {
			_, _ = replyWriter{c}.Write(greeting)
		} else if !c.delay(args) && !c.carryOut(args) {
			return 0, net.ErrClosed
		}
	}
}

// greeting answers a client's HELLO 2. The server's own answer is long, and each schedule has several connections.
var greeting = []byte("*2\r\n$5\r\nproto\r\n:2\r\n")

// carryOut lets the server carry out a request. A subscription first waits at the gate.
func (c *conn) carryOut(args []string) bool {
	if args[0] == "subscribe" {
		c.channels = args[1:]
		switch c.wait(&command{Command: schedule.Command{Name: args[0], Keys: args[1:]}}) {
		case schedule.Pass:
		case schedule.LostRequest:
			return true // it is never answered
		default:
			return false
		}
	}
	c.server.carryOut(c.peer, args)
	return true
}

// Read returns what the server has sent. On a subscription it waits for that, and messages wait at the gate.
func (c *conn) Read(p []byte) (int, error) {
	for {
		n, err := c.take(p)
		if err != nil || n > 0 && !isMessage(p[:n]) {
			return n, err
		}
		if n > 0 {
			switch c.wait(&command{Command: schedule.Command{Name: "message", Keys: c.channels, Message: true}}) {
			case schedule.Pass:
				return n, nil
			case schedule.Fail, schedule.TooLate:
				return 0, net.ErrClosed
			}
			continue // the message is lost
		}
		if err := c.awaitData(); err != nil {
			return 0, err
		}
	}
}

// wait waits at the gate with a command or message of a subscription, which counts as a write of its channel. A message
// that was not delivered before the connection closed never is.
func (c *conn) wait(cmd *command) schedule.Decision {
	cmd.server, cmd.write = c.server, true
	return c.gate.wait(c.gone, c.client, cmd)
}

func (c *conn) take(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed: // a message that arrives as the connection closes is lost
		return 0, io.EOF
	case c.replies.Len() > 0:
		one := c.replies.Bytes()
		if next := bytes.Index(one[1:], messageStart); next >= 0 { // each message is a step of its own
			one = one[:next+1]
		}
		n := copy(p, one)
		c.replies.Next(n)
		return n, nil
	}
	return 0, nil
}

func (c *conn) awaitData() error {
	if c.until.IsZero() {
		<-c.came
		return nil
	}
	timer := time.NewTimer(time.Until(c.until))
	defer timer.Stop()
	select {
	case <-c.came:
		return nil
	case <-timer.C:
		return os.ErrDeadlineExceeded
	}
}

// Close closes the connection. Miniredis forgets a subscriber when its connection closes or, as here, at its
// UNSUBSCRIBE.
func (c *conn) Close() error {
	c.mu.Lock()
	was := c.closed
	c.closed = true
	c.mu.Unlock()
	if was {
		return nil
	}
	close(c.gone)
	if len(c.channels) > 0 {
		c.server.carryOut(c.peer, []string{"unsubscribe"})
	}
	select {
	case c.came <- struct{}{}:
	default:
	}
	return nil
}

func (c *conn) isClosed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}

// SetReadDeadline is part of net.Conn.
func (c *conn) SetReadDeadline(t time.Time) error { c.until = t; return nil }

// SetDeadline is part of net.Conn.
func (c *conn) SetDeadline(t time.Time) error { return c.SetReadDeadline(t) }

// SetWriteDeadline is part of net.Conn. A write takes no time.
func (c *conn) SetWriteDeadline(time.Time) error { return nil }

// LocalAddr is part of net.Conn.
func (c *conn) LocalAddr() net.Addr { return &net.UnixAddr{Name: "client"} }

// RemoteAddr is part of net.Conn.
func (c *conn) RemoteAddr() net.Addr { return &net.UnixAddr{Name: c.server.Name} }

var messageStart = []byte("*3\r\n$7\r\nmessage\r\n")

// isMessage reports whether the server sends a message that was published.
func isMessage(reply []byte) bool { return bytes.HasPrefix(reply, messageStart) }
