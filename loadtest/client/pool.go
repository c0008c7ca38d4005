package client

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"sync"
	"syscall"
	"time"
)

// A pool sends requests, and keeps their connections for the next ones. net/http's client hands each request to a
// goroutine that writes and to one that reads. Here the caller does both, in net/http's own encoding. That takes less
// of the processor, which the service shares (scripts/beside-hey). A pool repeats nothing, and follows no redirection:
// whether an order was sent is part of what a run proves.
type pool struct {
	// keep bounds the idle connections to one instance.
	keep int
	// dial makes a connection, past any proxy that the environment names.
	dial func(ctx context.Context, network, address string) (net.Conn, error)
	tls  *tls.Config

	mu     sync.Mutex
	idle   map[address][]*conn // the one that was used last is the last
	swept  time.Time
	closed bool
}

// An address identifies the server of a connection.
type address struct{ scheme, host string }

func newPool(keep int) *pool {
	return &pool{keep: keep, dial: dial, tls: &tls.Config{}, idle: map[address][]*conn{}}
}

func dial(ctx context.Context, network, address string) (net.Conn, error) {
	return (&net.Dialer{Timeout: 5 * time.Second}).DialContext(ctx, network, address)
}

// do sends a request, which may have to wait at a gate, and reads the whole answer. Patience is how long that may take,
// from now on or from when the gate opens. It returns when the request was sent, or a little before; the zero time if
// it never was. An error leaves open what became of a request that was sent.
func (p *pool) do(req *http.Request, patience time.Duration, h *gatedOrder) (sent time.Time, status int, body []byte,
	err error) {
	ctx, deadline := req.Context(), time.Time{}
	if ctx.Err() != nil {
		return time.Time{}, 0, nil, &lateError{context.Cause(ctx)}
	}
	if h == nil {
		deadline = time.Now().Add(patience)
	}
	c, err := p.take(ctx, deadline, req.URL)
	if err != nil {
		return time.Time{}, 0, nil, err
	}
	_ = c.SetDeadline(deadline)
	giveUp := func() { _ = c.SetDeadline(time.Unix(1, 0)) }
	stop := context.AfterFunc(ctx, giveUp)
	if h == nil {
		sent = time.Now()
	} else {
		h.released = func() {
			_ = c.SetDeadline(time.Now().Add(patience))
			if ctx.Err() != nil {
				giveUp()
			}
		}
		c.tcp.next = h
	}
	status, body, reusable, err := c.exchange(req)
	if stop() && reusable {
		p.put(c)
	} else {
		_ = c.Close()
	}
	if h != nil {
		sent = h.sentAt()
	}
	switch {
	case err == nil:
	case ctx.Err() != nil && sent.IsZero():
		err = &lateError{context.Cause(ctx)}
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case errors.Is(err, os.ErrDeadlineExceeded):
		err = errTimeout
	}
	return sent, status, body, err
}

// take returns an idle connection that is usable, or dials until the deadline, if there is one.
func (p *pool) take(ctx context.Context, deadline time.Time, u *url.URL) (*conn, error) {
	to := address{u.Scheme, u.Host}
	for {
		p.mu.Lock()
		idle := p.idle[to]
		if len(idle) == 0 {
			p.mu.Unlock()
			break
		}
		c := idle[len(idle)-1]
		p.idle[to] = idle[:len(idle)-1]
		p.mu.Unlock()
		if c.usable() {
			return c, nil
		}
		_ = c.Close()
	}
	p.sweep()
	if !deadline.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadlineCause(ctx, deadline, errTimeout)
		defer cancel()
	}
	c, err := p.connect(ctx, u)
	if err != nil && ctx.Err() != nil && !errors.Is(err, syscall.ECONNREFUSED) && !errors.Is(err, syscall.ECONNRESET) {
		err = &lateError{context.Cause(ctx)}
	}
	return c, err
}

// sweepGap is the shortest time between two sweeps.
const sweepGap = time.Second

// sweep closes the idle connections that are not usable. Instances come and go in a run, and nobody asks for a
// connection to one that has gone.
func (p *pool) sweep() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Since(p.swept) < sweepGap {
		return
	}
	p.swept = time.Now()
	for to, idle := range p.idle {
		open := idle[:0]
		for _, c := range idle {
			if c.usable() {
				open = append(open, c)
			} else {
				_ = c.Close()
			}
		}
		clear(idle[len(open):])
		p.idle[to] = open
		if len(open) == 0 {
			delete(p.idle, to)
		}
	}
}

// connect dials, and shakes hands if the URL says https.
func (p *pool) connect(ctx context.Context, u *url.URL) (*conn, error) {
	port := u.Port()
	if port == "" {
		port = u.Scheme // the resolver knows http and https
	}
	dialled, err := p.dial(ctx, "tcp", net.JoinHostPort(u.Hostname(), port))
	if err != nil {
		return nil, err
	}
	tcp := &gatedConn{Conn: dialled}
	c := &conn{Conn: tcp, tcp: tcp, to: address{u.Scheme, u.Host}}
	if raw, ok := dialled.(syscall.Conn); ok {
		c.raw, _ = raw.SyscallConn()
	}
	if u.Scheme == "https" {
		config := p.tls.Clone()
		config.ServerName = u.Hostname()
		secure := tls.Client(tcp, config)
		if err := secure.HandshakeContext(ctx); err != nil {
			_ = dialled.Close()
			return nil, err
		}
		c.Conn = secure
	}
	c.left = io.LimitedReader{R: c.Conn}
	c.in = bufio.NewReader(&c.left)
	return c, nil
}

// put keeps a connection for the next order, unless enough are there.
func (p *pool) put(c *conn) {
	c.idleSince = time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || len(p.idle[c.to]) >= p.keep {
		_ = c.Close()
		return
	}
	p.idle[c.to] = append(p.idle[c.to], c)
}

// close closes the idle connections, now and from now on.
func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, idle := range p.idle {
		for _, c := range idle {
			_ = c.Close()
		}
	}
	clear(p.idle)
}

// A conn is a connection for one request at a time.
type conn struct {
	net.Conn  // for plain text
	to        address
	tcp       *gatedConn      // what carries it
	raw       syscall.RawConn // the same, to be looked at; nil if that cannot be had
	out       bytes.Buffer
	in        *bufio.Reader
	left      io.LimitedReader // what an answer may still take
	idleSince time.Time
}

const (
	// maxIdle bounds the idle time of a connection: a firewall may drop an idle one silently.
	maxIdle = time.Minute
	// maxHead bounds the size of what comes before an answer's body.
	maxHead = 1 << 20
	// usualBody is what an answer's length is believed to be before it came.
	usualBody = 1 << 16
	// maxInterim bounds the number of answers that only announce another one (1xx).
	maxInterim = 5
)

// usable reports whether an idle connection is good for another exchange.
func (c *conn) usable() bool { return time.Since(c.idleSince) < maxIdle && c.silent() }

// exchange writes the request in one piece, and reads the answer. The connection is good for another exchange if the
// answer is whole and its sender agrees.
func (c *conn) exchange(req *http.Request) (status int, body []byte, reusable bool, err error) {
	c.out.Reset()
	if err := req.Write(&c.out); err != nil {
		return 0, nil, false, err
	}
	if _, err := c.Write(c.out.Bytes()); err != nil {
		return 0, nil, false, err
	}
	c.left.N = maxHead
	resp, err := http.ReadResponse(c.in, req)
	for i := 0; err == nil && resp.StatusCode/100 == 1 && i < maxInterim; i++ {
		resp, err = http.ReadResponse(c.in, req)
	}
	if err != nil {
		return 0, nil, false, fmt.Errorf("no answer: %w", err)
	}
	defer resp.Body.Close()
	c.left.N += maxBody + maxHead // a body in chunks has some more
	whole := bytes.NewBuffer(make([]byte, 0, bytes.MinRead+max(0, min(resp.ContentLength, usualBody))))
	if _, err = whole.ReadFrom(io.LimitReader(resp.Body, maxBody+1)); err != nil {
		return resp.StatusCode, nil, false, fmt.Errorf("no whole answer: %w", err)
	}
	if whole.Len() > maxBody {
		return resp.StatusCode, nil, false, fmt.Errorf("an answer of more than %d MB", maxBody>>20)
	}
	reusable = !resp.Close && resp.StatusCode/100 != 1 && c.in.Buffered() == 0
	return resp.StatusCode, whole.Bytes(), reusable, nil
}
