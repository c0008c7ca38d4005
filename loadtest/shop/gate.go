package shop

import (
	"crypto/tls"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// A Gate holds orders back at the last instant. Each is made and written as ever, on a connection of its own, but what is
// written stays in front of the connection. When the gate opens, all of it goes to the kernel in a row: no order waits for
// a goroutine to be woken, or for a connection to be dialled.
type Gate struct {
	mu       sync.Mutex
	standing []*held
	opened   bool
}

// held is an order that stands before a gate.
type held struct {
	gate  *Gate
	ready func()       // called when it stands there
	let   func()       // called when it has been let go
	sent  atomic.Int64 // when that was, in nanoseconds of Unix time; 0 if it was not
	conn  net.Conn     // where what was written goes
	text  []byte       // what was written
	once  sync.Once    // of ready
}

// stand takes what was written to the connection.
func (h *held) stand(conn net.Conn, text []byte) (int, error) {
	h.gate.mu.Lock()
	late := h.gate.opened
	if !late {
		h.conn, h.text = conn, append([]byte(nil), text...)
		h.gate.standing = append(h.gate.standing, h)
	}
	h.gate.mu.Unlock()
	if late {
		h.sent.Store(time.Now().UnixNano())
		h.let()
		return conn.Write(text)
	}
	h.once.Do(h.ready)
	return len(text), nil
}

// Open lets all go that stand before the gate, and returns when the last of them had been handed to the kernel. Who comes
// later is not held.
func (g *Gate) Open() time.Time {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.opened = true
	var next atomic.Int64
	var all sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(g.standing)) {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(g.standing); i = int(next.Add(1)) - 1 {
				h := g.standing[i]
				h.sent.Store(time.Now().UnixNano())
				_, _ = h.conn.Write(h.text) // an error shows when its answer is read
			}
		})
	}
	all.Wait()
	last := time.Now()
	for _, h := range g.standing {
		h.let()
	}
	return last
}

// gated is a connection whose next write may have to stand before a gate.
type gated struct {
	net.Conn
	next atomic.Pointer[held]
}

func (c *gated) Write(text []byte) (int, error) {
	if h := c.next.Swap(nil); h != nil {
		return h.stand(c.Conn, text)
	}
	return c.Conn.Write(text)
}

// hold makes the next write to a connection of this client's stand before the gate.
func (h *held) hold(conn net.Conn) {
	if t, ok := conn.(*tls.Conn); ok {
		conn = t.NetConn()
	}
	if c, ok := conn.(*gated); ok {
		c.next.Store(h)
	}
}
