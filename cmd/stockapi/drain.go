package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"stockapi/internal/sale"
)

// How an instance is taken out of service without leaving a request unanswered. http.Server.Shutdown does leave some: it
// resets who has connected and was not accepted yet, drops the request that it has just read, and closes an idle
// connection without a look at what is arriving on it. So an instance keeps its own list of connections, and calls
// Shutdown when that is empty.

const (
	// headerTime is how long a client may take to send its header.
	headerTime = 5 * time.Second
	// settleTime is how long nobody may have come when the port closes: a handshake that has begun gets through in that.
	settleTime = 50 * time.Millisecond
)

// drain takes the instance out of service: first /readyz fails, so that no new orders are sent here, and every answer
// says that its connection ends; then the port closes, and connections that nobody uses; and the orders under way
// finish, each giving back its lock.
func drain(server *http.Server, port *port, shop *sale.Shop, c *config, log *slog.Logger) error {
	shop.Close()
	log.Info("draining")
	time.Sleep(c.DrainDelay)
	port.stop(min(settleTime, c.DrainDelay))
	ctx, cancel := context.WithTimeout(context.Background(), c.DrainTimeout)
	defer cancel()
	err := port.empty(ctx, c.DrainDelay)
	if err == nil {
		err = server.Shutdown(ctx)
	}
	if err != nil {
		_ = server.Close()
		return fmt.Errorf("requests were still in flight after --drain-timeout %v: %w", c.DrainTimeout, err)
	}
	log.Info("stopped")
	return nil
}

// A port is a listener that knows its connections, and closes when all who have connected were let in.
type port struct {
	*net.TCPListener
	settle  time.Duration // set, as until is, before closing is closed
	until   time.Time
	closing chan struct{} // closed when it begins to close
	closed  chan struct{} // closed when nobody is let in any more

	mu    sync.Mutex
	conns map[*conn]struct{}
}

func newPort(l *net.TCPListener) *port {
	return &port{TCPListener: l, closing: make(chan struct{}), closed: make(chan struct{}), conns: map[*conn]struct{}{}}
}

// stop closes the port when nobody has come for a while, or not much later if they do not cease to come.
func (p *port) stop(settle time.Duration) {
	p.settle, p.until = settle, time.Now().Add(10*settle)
	close(p.closing)
	_ = p.SetDeadline(time.Now().Add(settle))
	<-p.closed
}

// delay serves with h, and makes requests wait that come while the port closes. Who waits for an answer does not connect
// again: so there is a moment at which nobody comes.
func (p *port) delay(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-p.closing:
			<-p.closed
		default:
		}
		h.ServeHTTP(w, r)
	})
}

// Accept lets somebody in.
func (p *port) Accept() (net.Conn, error) {
	accepted, err := p.AcceptTCP()
	select {
	case <-p.closing:
		if errors.Is(err, os.ErrDeadlineExceeded) {
			// The limit may have been over before the last look, which then saw nobody.
			if last, ok := acceptNow(p.TCPListener); ok {
				accepted, err = last, nil
			}
		}
		if err != nil {
			_ = p.Close()
			close(p.closed)
			return nil, net.ErrClosed
		}
		if time.Now().Before(p.until) {
			_ = p.SetDeadline(time.Now().Add(p.settle))
		}
	default:
	}
	if err != nil {
		return nil, err
	}
	c := &conn{TCPConn: accepted, unused: true, since: time.Now()}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conns[c] = struct{}{}
	return c, nil
}

// Close closes the port. It may be closed already: http.Server closes it too.
func (p *port) Close() error {
	if err := p.TCPListener.Close(); !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// changed is the server's ConnState.
func (p *port) changed(nc net.Conn, state http.ConnState) {
	c, ok := nc.(*conn)
	if !ok {
		return
	}
	switch state {
	case http.StateActive:
		c.markUsed()
	case http.StateIdle:
		c.markIdle()
	case http.StateClosed, http.StateHijacked:
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.conns, c)
	}
}

// empty returns when no connection is left: those under way end with their answer, and those that nobody has used for a
// while are ended here. HTTP/1.1 has no way to ask a client first, so one that uses such a connection at this very
// moment may find it closed; after the while of not using it that is unlikely.
func (p *port) empty(ctx context.Context, unused time.Duration) error {
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for !p.endUnused(unused) {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
	return nil
}

// endUnused ends what was not used for so long, and reports whether no connection was left.
func (p *port) endUnused(since time.Duration) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		c.endUnused(since)
	}
	return len(p.conns) == 0
}

// A conn is a connection that knows whether a request has begun on it. It ends where net/http waits for the next request
// and nowhere else, by an end of file where the request would be.
type conn struct {
	*net.TCPConn

	mu     sync.Mutex
	unused bool      // no request, nor a byte of one, has come on it since it was opened or last answered
	since  time.Time // it is unused
	woken  bool      // the time limit is that of endUnused
}

func (c *conn) markUsed() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unused = false
}

func (c *conn) markIdle() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unused, c.since = true, time.Now()
}

func (c *conn) endUnused(since time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.unused && !c.woken && time.Since(c.since) >= since {
		c.woken = true
		_ = c.TCPConn.SetReadDeadline(time.Unix(1, 0)) // who waits in Read, returns
	}
}

// SetReadDeadline sets the limit of net/http, over that of endUnused. If the connection is unused still, that comes back.
func (c *conn) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.woken = false
	return c.TCPConn.SetReadDeadline(t)
}

// Read reads, and notes that a request has begun.
func (c *conn) Read(b []byte) (int, error) {
	n, err := c.TCPConn.Read(b)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		switch woken, unused := c.takeWake(); {
		case woken && unused: // the two may have come at the same time, the end and a request
			if n, err = readNow(c.TCPConn, b), nil; n == 0 {
				err = io.EOF
			}
		case woken:
			n, err = c.TCPConn.Read(b)
		}
	}
	if n > 0 {
		c.markUsed()
	}
	return n, err
}

// takeWake reports whether it was endUnused that woke a reader, and whether the connection is unused still. For what may be
// there to be read all the same it has the time that a header has.
func (c *conn) takeWake() (woken, unused bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	woken, unused = c.woken, c.unused
	if woken {
		c.woken = false
		_ = c.TCPConn.SetReadDeadline(time.Now().Add(headerTime))
	}
	return woken, unused
}
