package client

import (
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// A Gate releases many orders at one moment. Each order is made and written as usual, on its own connection, but the
// written bytes wait in front of the connection. When the gate opens, all of them go to the kernel in a row: no order
// waits for a goroutine to wake up, or for a connection to be dialled.
type Gate struct {
	mu      sync.Mutex
	waiting []*gatedOrder
	opened  bool
}

// A gatedOrder is an order at a gate.
type gatedOrder struct {
	gate     *Gate
	ready    func()       // called when it waits at the gate
	released func()       // called when it has been released
	sent     atomic.Int64 // when that was, in nanoseconds of Unix time; 0 if it was not released
	conn     net.Conn     // the connection for text
	text     []byte       // the bytes that wait
	once     sync.Once    // of ready
}

// wait takes the bytes that were written to the connection.
func (h *gatedOrder) wait(conn net.Conn, text []byte) (int, error) {
	h.gate.mu.Lock()
	late := h.gate.opened
	if !late {
		h.conn, h.text = conn, append([]byte(nil), text...)
		h.gate.waiting = append(h.gate.waiting, h)
	}
	h.gate.mu.Unlock()
	if late {
		h.sent.Store(time.Now().UnixNano())
		h.released()
		return conn.Write(text)
	}
	h.once.Do(h.ready)
	return len(text), nil
}

// Open releases all orders that wait at the gate, and returns when the last of them was handed to the kernel. An order
// that comes later does not wait.
func (g *Gate) Open() time.Time {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.opened = true
	var next atomic.Int64
	var all sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(g.waiting)) {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(g.waiting); i = int(next.Add(1)) - 1 {
				h := g.waiting[i]
				h.sent.Store(time.Now().UnixNano())
				_, _ = h.conn.Write(h.text) // an error shows when its answer is read
			}
		})
	}
	all.Wait()
	last := time.Now()
	for _, h := range g.waiting {
		h.released()
	}
	return last
}

// sentAt returns when the order was released; the zero time if it was not.
func (h *gatedOrder) sentAt() time.Time {
	if at := h.sent.Load(); at != 0 {
		return time.Unix(0, at)
	}
	return time.Time{}
}

// A gatedConn is a connection whose next write may have to wait at a gate.
type gatedConn struct {
	net.Conn
	next *gatedOrder // nil: it does not wait
}

func (c *gatedConn) Write(text []byte) (int, error) {
	if h := c.next; h != nil {
		c.next = nil
		return h.wait(c.Conn, text)
	}
	return c.Conn.Write(text)
}
