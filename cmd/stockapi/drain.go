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

// An instance shuts down without leaving a request unanswered. http.Server.Shutdown alone leaves some: it resets
// connections that were not accepted yet, drops a request that it has just read, and closes an idle connection without
// checking whether a request is arriving. So an instance keeps its own list of connections, and calls Shutdown when the
// list is empty.

const (
	// headerTime bounds the time in which a client has to send its header.
	headerTime = 5 * time.Second
	// settleTime is the time without new connections after which the port closes: enough to finish a TCP handshake.
	settleTime = 50 * time.Millisecond
)

// drain shuts the instance down. First /readyz fails, so that no new orders are sent here, and every answer closes its
// connection. Then the port and idle connections are closed. The orders under way finish and release their locks.
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

// A port is a listener that keeps a list of its connections, and closes after it has accepted all that have connected.
type port struct {
	*net.TCPListener
	settle  time.Duration // how long no connection may have come; set, as until is, before closing is closed
	until   time.Time     // when to close at the latest
	closing chan struct{} // closed when the port begins to close
	closed  chan struct{} // closed when the port accepts no more connections

	mu    sync.Mutex
	conns map[*conn]struct{}
}

func newPort(l *net.TCPListener) *port {
	return &port{TCPListener: l, closing: make(chan struct{}), closed: make(chan struct{}), conns: map[*conn]struct{}{}}
}

// stop closes the port after no connection has come for the time settle, or after ten times that at the latest.
func (p *port) stop(settle time.Duration) {
	p.settle, p.until = settle, time.Now().Add(10*settle)
	close(p.closing)
	_ = p.SetDeadline(time.Now().Add(settle))
	<-p.closed
}

// delay serves with h, and delays requests that arrive while the port closes. A client that waits for an answer opens
// no new connection, so there will be a moment without new connections.
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

// Accept accepts a connection. While the port closes, it accepts those that have connected already.
func (p *port) Accept() (net.Conn, error) {
	accepted, err := p.AcceptTCP()
	select {
	case <-p.closing:
		if errors.Is(err, os.ErrDeadlineExceeded) {
			// The deadline may have expired before the last attempt, which then accepted nothing.
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

// Close closes the port. It may be closed already, because http.Server closes it too.
func (p *port) Close() error {
	if err := p.TCPListener.Close(); !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// changed is the ConnState hook of the server.
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

// empty returns when no connection is left. Connections with a request end after their answer, and empty ends those
// that were unused for a while. HTTP/1.1 cannot announce that to a client: one that sends a request at this moment may
// find the connection closed. After a while without requests that is unlikely.
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

// endUnused ends connections that were unused for so long, and reports whether no connection was left.
func (p *port) endUnused(since time.Duration) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		c.endUnused(since)
	}
	return len(p.conns) == 0
}

// A conn is a connection that knows whether a request has begun on it. endUnused ends it only while net/http waits for
// the next request: net/http then reads an end of file instead of a request.
type conn struct {
	*net.TCPConn

	mu     sync.Mutex
	unused bool      // no byte of a request has arrived since it was opened or since the last answer
	since  time.Time // when it became unused
	woken  bool      // endUnused has set the read deadline
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
		_ = c.TCPConn.SetReadDeadline(time.Unix(1, 0)) // makes a waiting Read return
	}
}

// SetReadDeadline sets the deadline of net/http in place of endUnused's, which sets it again if the connection is still
// unused.
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
		case woken && unused: // a request may have arrived at the same time
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

// takeWake reports whether endUnused woke the reader, and whether the connection is still unused. A request that
// arrived at the same time gets the usual time for its header.
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
