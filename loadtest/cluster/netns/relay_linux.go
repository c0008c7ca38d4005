package netns

import (
	"io"
	"net"
	"sync"
	"time"
)

// relays pass on connections, and how each side ends them. Their zero value relays nothing.
type relays struct {
	all       sync.WaitGroup
	mu        sync.Mutex
	listeners []net.Listener
	conns     map[*net.TCPConn]bool
	closing   chan struct{} // closed when they close; nil before the first listener
}

// drainWithin bounds how long closed relays go on passing on what has been sent.
const drainWithin = time.Second

// serve passes on what arrives at a listener to the connection that dial makes.
func (r *relays) serve(l net.Listener, dial func() (net.Conn, error)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closing == nil {
		r.closing, r.conns = make(chan struct{}), map[*net.TCPConn]bool{}
	}
	r.listeners = append(r.listeners, l)
	r.all.Go(func() {
		for {
			one, err := l.Accept()
			if err != nil {
				return
			}
			r.all.Go(func() { r.relay(one.(*net.TCPConn), dial) })
		}
	})
}

func (r *relays) relay(one *net.TCPConn, dial func() (net.Conn, error)) {
	defer r.hold(one)()
	dialled, err := dial()
	if err != nil {
		reset(one)
		return
	}
	other := dialled.(*net.TCPConn)
	defer r.hold(other)()
	ended := make(chan struct{}, 2)
	for _, to := range []*net.TCPConn{one, other} {
		from := other
		if to == other {
			from = one
		}
		r.all.Go(func() {
			if _, err := io.Copy(to, from); err != nil {
				reset(to)
				reset(from)
			}
			_ = to.CloseWrite()
			ended <- struct{}{}
		})
	}
	<-ended
	select {
	case <-ended:
	case <-r.closing: // one side is dead
	}
}

// hold returns the function that closes a connection, and has the relays close it before if they must.
func (r *relays) hold(c *net.TCPConn) (release func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.conns[c] = true
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.conns, c)
		_ = c.Close()
	}
}

// reset closes a connection such that its other end gets an error.
func reset(c *net.TCPConn) {
	_ = c.SetLinger(0)
	_ = c.Close()
}

// close closes the relays. Those whose service has died pass on what it has sent.
func (r *relays) close() {
	r.mu.Lock()
	if r.closing == nil {
		r.mu.Unlock()
		return
	}
	close(r.closing)
	for _, l := range r.listeners {
		_ = l.Close()
	}
	r.mu.Unlock()
	late := time.AfterFunc(drainWithin, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		for c := range r.conns {
			reset(c)
		}
	})
	defer late.Stop()
	r.all.Wait()
}
