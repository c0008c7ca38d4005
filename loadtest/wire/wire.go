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
)

// A Wire is the way of one instance to one server. It knows where a command ends and where a reply does, so it can
// hold, lose or refuse a single one.
type Wire struct {
	Server *schedule.Server

	gate   *Gate
	sender *schedule.Client
	lost   time.Duration // until the connection breaks whose request or reply was lost; 0: it does so at once

	listener net.Listener
	all      sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	conns   map[*conn]bool
	locals  map[string]bool       // the addresses from which it has connected to the server
	unknown map[string][]*Command // by their call: scripts that the server did not know, and that are sent again
	refused []string
	spoken  atomic.Bool
	tracked []time.Time // when the invalidations of client tracking came
}

// New starts a wire on a port of its own. A connection whose request or reply was lost breaks after the time lost,
// which is the patience of a client; 0 breaks it at once. So does one whose request comes late, but for 0, when its
// client waits.
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

// Invalidations returns when the server told the instance, by client tracking, that keys had changed.
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
		w.all.Go(func() { w.serve(instance) })
	}
}

// serve connects a connection of the instance with the server.
func (w *Wire) serve(instance net.Conn) {
	upstream, err := (&net.Dialer{Timeout: 2 * time.Second}).DialContext(context.Background(), "tcp", w.Server.Host)
	if err != nil {
		_ = instance.Close()
		return
	}
	w.connect(newConn(w, instance, upstream))
}

// connect serves a connection until it has ended.
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

// open returns the connections that there are.
func (w *Wire) open() []*conn {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Collect(maps.Keys(w.conns))
}

// Break breaks all connections, as a server does that is gone. New ones are accepted.
func (w *Wire) Break() {
	for _, c := range w.open() {
		c.reset()
		c.close()
	}
}

// BreakClients breaks the connections to the instance alone: what it has sent may still arrive.
func (w *Wire) BreakClients() {
	for _, c := range w.open() {
		c.reset()
	}
}

// Owns reports whether a connection to the server was one of the wire's, by the address that the server saw it come
// from.
func (w *Wire) Owns(address string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.locals[address]
}

// CloseIdle closes the connections on which no command waits and no subscription is.
func (w *Wire) CloseIdle() {
	for _, c := range w.open() {
		if c.isIdle() {
			c.close()
		}
	}
}

// Close ends the wire, and waits until nothing of it is left.
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

// maxUnknown bounds the calls of scripts that are remembered. What comes then is a command that failed.
const maxUnknown = 1000

// remember notes a script that the server does not know, unless the command runs none. The client sends it again at
// once, whole or when it has loaded it: that is the same step.
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

// again returns the command that a script belongs to which is sent again. Of two orders that run the same, each sends
// it again.
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

// Spoken reports whether the instance has sent anything, be it what a wire cannot read.
func (w *Wire) Spoken() bool { return w.spoken.Load() }

// note keeps why something was refused.
func (w *Wire) note(why string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !slices.Contains(w.refused, why) {
		w.refused = append(w.refused, why)
	}
}

// Refused returns why commands were refused: each reason once, a sentence that says what to do.
func (w *Wire) Refused() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.refused)
}
