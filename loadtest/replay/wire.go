package replay

import (
	"bufio"
	"fmt"
	"net"
	"sync"
	"time"
)

// A wire is the way of one instance to one server. It knows where a command ends and where a reply does, so it can hold,
// lose or refuse a single one.
type wire struct {
	gate   *gate
	sender *sender
	server *server
	lost   time.Duration // until the connection breaks whose request or reply was lost

	listener net.Listener
	all      sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	conns   map[*conn]bool
	unknown map[string]*command // by digest: scripts that the server did not know, and that are sent again whole
}

// newWire starts a wire on a port of its own.
func newWire(g *gate, from *sender, s *server, lost time.Duration) (*wire, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start a wire to %s: %w", s.name, err)
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
	upstream, err := net.DialTimeout("tcp", w.server.host, 2*time.Second)
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

// A conn is one connection of the instance, and the one to the server that belongs to it.
type conn struct {
	*wire
	instance, upstream net.Conn
	replies            *bufio.Reader

	came chan []byte   // what the client sends
	gone chan struct{} // closed when the client has closed the connection, or the wire has
	once sync.Once

	mu         sync.Mutex
	busy       bool // a request is under way
	subscribed bool
}

func (c *conn) close() {
	c.once.Do(func() {
		close(c.gone)
		_ = c.instance.Close()
		_ = c.upstream.Close()
	})
}

// reset breaks the connection, as a server does that is gone.
func (c *conn) reset() {
	if tcp, ok := c.instance.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	c.close()
}

// read reads what the client sends, so that its end is known while a command waits.
func (c *conn) read() {
	defer c.close()
	for {
		part := make([]byte, 4<<10)
		n, err := c.instance.Read(part)
		if n > 0 {
			select {
			case c.came <- part[:n]:
			case <-c.gone:
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// run serves one request after the other.
func (c *conn) run() {
	for {
		r, ok := c.next()
		if !ok {
			return
		}
		switch {
		case r.subscribes():
			ok = c.subscribe(r)
		case c.isSubscribed():
			_, err := c.upstream.Write(r.raw)
			ok = err == nil
		case r.isSetup():
			ok = c.forward(r)
		default:
			ok = c.request(r)
		}
		c.setBusy(false)
		if !ok {
			return
		}
	}
}

// next returns the next request of the client.
func (c *conn) next() (request, bool) {
	var b []byte
	for {
		select {
		case part := <-c.came:
			b = append(b, part...)
		case <-c.gone:
			return request{}, false
		}
		c.setBusy(true)
		r, whole, err := parseRequest(b)
		if err != nil {
			return r, false
		}
		if whole {
			return r, true
		}
	}
}

func (c *conn) setBusy(busy bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.busy = busy
}

func (c *conn) isIdle() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.busy && !c.subscribed
}

func (c *conn) isSubscribed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.subscribed
}

// request does with a request what the trace decides. It returns false if the connection is of no more use.
func (c *conn) request(r request) bool {
	cmd, again := c.again(r)
	if !again {
		cmd = c.gate.newCommand(c.sender, c.server, r)
		c.gate.wait(cmd, c.gone)
	}
	switch cmd.decision {
	case pass, loseReply:
		return c.answer(cmd, r)
	case loseRequest:
		cmd.finish()
		c.breakLater()
	case refuse:
		c.reset()
	}
	cmd.finish()
	return false
}

// answer sends a request on, and its reply back unless the trace says otherwise.
func (c *conn) answer(cmd *command, r request) bool {
	cmd.sent = time.Now()
	reply, ok := c.carryOut(r)
	if ok && isUnknownScript(reply) { // the client sends it again, and only then the server carries it out
		c.remember(r.digest(), cmd)
		return c.write(reply)
	}
	if ok {
		c.gate.record(cmd)
	}
	defer cmd.finish()
	switch {
	case !ok:
		return false
	case cmd.decision == loseReply:
		cmd.finish()
		c.breakLater()
		return false
	case cmd.delivered != nil:
		cmd.finish()
		select {
		case <-cmd.delivered:
		case <-c.gone:
			return false
		}
	}
	return c.write(reply)
}

// carryOut sends a request to the server, and returns the replies to all of its commands.
func (c *conn) carryOut(r request) (replies []byte, ok bool) {
	if _, err := c.upstream.Write(r.raw); err != nil {
		return nil, false
	}
	for range r.cmds {
		var err error
		if replies, err = readReply(c.replies, replies); err != nil {
			return replies, false
		}
	}
	return replies, true
}

// forward sends a request on and its replies back, whatever the trace says.
func (c *conn) forward(r request) bool {
	replies, ok := c.carryOut(r)
	return ok && c.write(replies)
}

func (c *conn) write(reply []byte) bool {
	_, err := c.instance.Write(reply)
	return err == nil
}

// breakLater breaks the connection when the client has waited for the reply for some time.
func (c *conn) breakLater() {
	timer := time.NewTimer(c.lost)
	defer timer.Stop()
	select {
	case <-timer.C:
		c.reset()
	case <-c.gone:
	}
}

// subscribe has the server carry out a subscription when the trace lets it through. From then on the server sends what
// it likes.
func (c *conn) subscribe(r request) bool {
	cmd := c.gate.newCommand(c.sender, c.server, r)
	if c.gate.wait(cmd, c.gone) != pass {
		cmd.finish()
		return false
	}
	c.mu.Lock()
	first := !c.subscribed
	c.subscribed = true
	c.mu.Unlock()
	if first {
		c.all.Go(func() { c.deliver(cmd) })
	} else {
		cmd.finish()
	}
	_, err := c.upstream.Write(r.raw)
	return err == nil
}

// deliver passes on what the server sends on a subscription. A message waits until the trace lets it through, and so
// does what comes after it.
func (c *conn) deliver(subscription *command) {
	defer c.close()
	defer subscription.finish()
	for {
		reply, err := readReply(c.replies, nil)
		if err != nil {
			return
		}
		if !isMessage(reply) {
			if !c.write(reply) {
				return
			}
			subscription.finish()
			continue
		}
		cmd := &command{sender: c.sender, server: c.server, name: "message", message: true}
		switch c.gate.wait(cmd, c.gone) {
		case pass:
			c.write(reply)
		case tooLate:
			return
		}
		cmd.finish()
	}
}
