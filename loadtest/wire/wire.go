package wire

import (
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"stockapi/loadtest/schedule"
	"stockapi/loadtest/wire/socket"
)

// A Wire proxies one server for one instance. It parses commands and replies, so that it can hold, lose or refuse a
// single one.
type Wire struct {
	Server *schedule.Server

	gate   *Gate
	sender *schedule.Client
	lost   time.Duration // from a lost request or reply to the end of its connection; 0: at once

	listener net.Listener
	all      sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	conns   map[*conn]bool
	locals  map[string]bool       // its addresses as the server sees them
	unknown map[string][]*Command // by their call: scripts unknown to the server, which the client will resend
	refused []string
	spoken  atomic.Bool
	opening atomic.Int64 // connections that were accepted and are not served yet
	tracked []time.Time  // when client-tracking invalidations arrived
}

// New starts a wire on a port of its own. The duration lost is the client's timeout: a connection breaks that long
// after a request or reply on it was lost, or a request became late. With 0, a loss breaks it at once, and a late
// request leaves the client waiting.
func New(g *Gate, from *schedule.Client, to *schedule.Server, lost time.Duration) (*Wire, error) {
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start a wire to %s: %w", to.Name, err)
	}
	w := &Wire{Server: to, gate: g, sender: from, lost: lost, listener: l, conns: map[*conn]bool{},
		locals:  map[string]bool{},
		unknown: map[string][]*Command{}}
	w.all.Go(w.accept)
	return w, nil
}

// Host returns the address that the instance connects to.
func (w *Wire) Host() string { return w.listener.Addr().String() }

// Invalidations returns when the server notified the instance, by client tracking, of changed keys.
func (w *Wire) Invalidations() []time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.tracked)
}

func (w *Wire) accept() {
	for {
		instance, err := w.listener.Accept()
		if err != nil {
			return
		}
		w.opening.Add(1)
		w.all.Go(func() { w.serve(instance) })
	}
}

// serve connects the instance's connection to the server.
func (w *Wire) serve(instance net.Conn) {
	upstream, err := (&net.Dialer{Timeout: 2 * time.Second}).DialContext(context.Background(), "tcp", w.Server.Host)
	if err != nil {
		w.opening.Add(-1)
		_ = instance.Close()
		return
	}
	w.connect(newConn(w, instance, upstream))
}

// IsBusy reports whether anything is on its way at the wire that nothing holds: a connection, a command or a reply.
func (w *Wire) IsBusy() bool {
	return socket.IsCalled(w.listener) || w.opening.Load() > 0 || slices.ContainsFunc(w.open(), (*conn).isBusy)
}

// connect serves a connection until it closes.
func (w *Wire) connect(c *conn) {
	if !w.add(c) {
		c.close()
		return
	}
	defer w.remove(c)
	c.serve()
}

func (w *Wire) add(c *conn) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.opening.Add(-1)
	if !w.closed {
		w.conns[c] = true
		w.locals[c.server.LocalAddr().String()] = true
		c.number = len(w.locals)
	}
	return !w.closed
}

func (w *Wire) remove(c *conn) {
	c.close()
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.conns, c)
}

// open returns the open connections.
func (w *Wire) open() []*conn {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Collect(maps.Keys(w.conns))
}

// Break breaks all connections, as when the server is gone. New ones are accepted.
func (w *Wire) Break() {
	for _, c := range w.open() {
		c.reset()
		c.close()
	}
}

// BreakClients breaks the connections to the instance alone: commands already sent may still arrive.
func (w *Wire) BreakClients() {
	for _, c := range w.open() {
		c.reset()
	}
}

// Owns reports whether an address, as a server reports that of a client, is one of the wire's.
func (w *Wire) Owns(address string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.locals[address]
}

// CloseIdle closes the connections without waiting commands and without subscriptions.
func (w *Wire) CloseIdle() {
	for _, c := range w.open() {
		if c.isIdle() {
			c.close()
		}
	}
}

// Close closes the wire, and waits until all its goroutines have ended.
func (w *Wire) Close() {
	_ = w.listener.Close()
	w.mu.Lock()
	w.closed = true
	for c := range w.conns {
		c.close()
	}
	w.mu.Unlock()
	w.all.Wait()
}

// maxUnknown bounds the remembered script calls. Any beyond it counts as a failed command.
const maxUnknown = 1000

// remember notes a script that the server does not know; it returns false if the command runs none. The client resends
// it at once, whole or after loading it: that is the same step.
func (w *Wire) remember(r request, cmd *Command) bool {
	call := r.call()
	w.mu.Lock()
	defer w.mu.Unlock()
	if call == "" || len(w.unknown) == maxUnknown {
		return false
	}
	w.unknown[call] = append(w.unknown[call], cmd)
	return true
}

// again returns the command that a script call resends. If two orders run the same script, each resends it.
func (w *Wire) again(r request) (*Command, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.unknown) == 0 {
		return nil, false
	}
	call := r.call()
	cmds := w.unknown[call]
	switch len(cmds) {
	case 0:
		return nil, false
	case 1:
		delete(w.unknown, call)
	default:
		w.unknown[call] = cmds[1:]
	}
	return cmds[0], true
}

// Spoken reports whether the instance has sent anything, even what a wire cannot parse.
func (w *Wire) Spoken() bool { return w.spoken.Load() }

// note records the reason for a refusal.
func (w *Wire) note(why string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !slices.Contains(w.refused, why) {
		w.refused = append(w.refused, why)
	}
}

// Refused returns the reasons why commands were refused, each once and with its remedy.
func (w *Wire) Refused() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.refused)
}
