package replay

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"sync"
	"time"

	"stockapi/loadtest/schedule"
)

// A wire is the way of one instance to one server. It knows where a command ends and where a reply does, so it can
// hold, lose or refuse a single one.
type wire struct {
	gate   *gate
	sender *schedule.Client
	server *schedule.Server
	lost   time.Duration // until the connection breaks whose request or reply was lost

	listener net.Listener
	all      sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	conns   map[*conn]bool
	unknown map[string]*command // by digest: scripts that the server did not know, and that are sent again whole
}

// newWire starts a wire on a port of its own.
func newWire(g *gate, from *schedule.Client, s *schedule.Server, lost time.Duration) (*wire, error) {
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start a wire to %s: %w", s.Name, err)
	}
	w := &wire{gate: g, sender: from, server: s, lost: lost, listener: l, conns: map[*conn]bool{},
		unknown: map[string]*command{}}
	w.all.Go(w.accept)
	return w, nil
}

// host returns the address that the instance connects to.
func (w *wire) host() string { return w.listener.Addr().String() }

func (w *wire) accept() {
	for {
		instance, err := w.listener.Accept()
		if err != nil {
			return
		}
		w.all.Go(func() { w.serve(instance) })
	}
}

// serve connects a connection of the instance with the server.
func (w *wire) serve(instance net.Conn) {
	upstream, err := (&net.Dialer{Timeout: 2 * time.Second}).DialContext(context.Background(), "tcp", w.server.Host)
	if err != nil {
		_ = instance.Close()
		return
	}
	c := &conn{wire: w, instance: instance, upstream: upstream, replies: bufio.NewReader(upstream),
		came: make(chan []byte), gone: make(chan struct{})}
	if !w.add(c) {
		c.close()
		return
	}
	defer w.remove(c)
	w.all.Go(c.read)
	c.run()
}

func (w *wire) add(c *conn) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.closed {
		w.conns[c] = true
	}
	return !w.closed
}

func (w *wire) remove(c *conn) {
	c.close()
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.conns, c)
}

// closeIdle closes the connections on which no command waits and no subscription is.
func (w *wire) closeIdle() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for c := range w.conns {
		if c.isIdle() {
			c.close()
		}
	}
}

// Close ends the wire, and waits until nothing of it is left.
func (w *wire) Close() {
	_ = w.listener.Close()
	w.mu.Lock()
	w.closed = true
	for c := range w.conns {
		c.close()
	}
	w.mu.Unlock()
	w.all.Wait()
}

// remember notes a script that the server does not know. The client sends it whole at once: that is the same step.
func (w *wire) remember(digest string, cmd *command) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.unknown[digest] = cmd
}

// again returns the command that a script belongs to which is sent again whole.
func (w *wire) again(r request) (*command, bool) {
	if r.verb(0) != "eval" {
		return nil, false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	cmd, ok := w.unknown[r.digest()]
	delete(w.unknown, r.digest())
	return cmd, ok
}
