package wire

import (
	"bufio"
	"errors"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"stockapi/loadtest/schedule"
)

// maxQueue bounds the commands of one connection that are not answered, and the messages that wait. More ends it.
const maxQueue = 1 << 20

// A conn is one connection of a client, and the one to the server that belongs to it. Its commands are a queue: each
// waits at the gate by itself, and is sent on when it may, also before one that came earlier. The replies are delivered
// in the order of the queue.
type conn struct {
	*Wire
	client *outbox
	server net.Conn
	out    *bufio.Writer // to the server; only send uses it
	begun  transaction   // only read uses it

	gone        chan struct{} // closed when the client has gone, or was cut off
	ended       chan struct{} // closed when the connection to the server is closed too
	wake        chan struct{} // holds a notice for send
	leave, once sync.Once

	mu    sync.Mutex
	queue []*entry // as they came; those that are not delivered
	sent  []*entry // as they were sent on; those that are not answered
	channels
}

// A transaction is what a client has sent of it. The rest of the connection is not to get into it, so it is sent on
// with its EXEC, and the wire says +OK and +QUEUED. CLIENT CACHING goes with the next command in the same way.
type transaction struct {
	multi  bool
	raw    []byte
	queued [][]string
	passed int // replies of the server that the client has had from the wire
}

// An entry is a command in the queue of its connection.
type entry struct {
	request
	cmd    *Command // nil: it passes no gate
	passed int      // replies that come before its own
	want   int      // channels that the server has yet to confirm

	state    progress
	until    <-chan struct{} // closed when it may be sent on; nil: at any time
	late     bool            // it may be sent on when its client has gone
	reply    []byte
	after    []byte // what the server sent besides after the reply
	answered chan struct{}
}

// A progress is how far a command has come.
type progress uint8

const (
	waiting  progress = iota
	chosen            // to be sent on
	lost              // its client waits in vain
	answered          // by the server, or by the wire
)

func newConn(w *Wire, client, server net.Conn) *conn {
	return &conn{Wire: w, client: &outbox{Conn: client}, server: server, out: bufio.NewWriter(server),
		gone: make(chan struct{}), ended: make(chan struct{}), wake: make(chan struct{}, 1),
		channels: channels{subscribed: map[string]map[string]bool{}}}
}

// close ends both connections.
func (c *conn) close() {
	c.once.Do(func() {
		close(c.ended)
		_ = c.server.Close()
		c.client.end()
		c.depart()
	})
}

// depart notes that the client has gone. What was sent on is still answered, so that the record has its reply.
func (c *conn) depart() {
	c.leave.Do(func() { close(c.gone) })
	c.notify()
}

// reset breaks the connection to the client.
func (c *conn) reset() {
	c.client.reset()
	c.depart()
}

func (c *conn) notify() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

func isClosed(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

func (c *conn) isIdle() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.queue) == 0 && c.count() == 0
}

// read reads the commands of the client.
func (c *conn) read() {
	defer c.depart()
	r := newReader(c.client)
	for {
		args, err := r.command()
		if errors.Is(err, errProtocol) || errors.Is(err, errTLS) {
			c.add(c.refuse(&entry{}, err.Error()))
		}
		if err != nil || !c.take(request{raw: r.raw, args: args}) {
			return
		}
	}
}

// take puts a command into the queue. It returns false if it is too much.
func (c *conn) take(r request) bool {
	e, t, verb := &entry{request: r}, &c.begun, r.verb()
	why := r.refusal(t.multi)
	switch {
	case why != "":
		return c.add(c.refuse(e, why))
	case t.multi && (verb == "multi" || verb == "watch"):
		return c.add(e.answer("-ERR " + verb + " inside MULTI is not allowed"))
	case verb == "multi" || r.is("client", "caching"):
		t.multi = t.multi || verb == "multi"
		return t.add(r) && c.add(e.answer("+OK"))
	case t.multi && !slices.Contains([]string{"exec", "discard", "quit", "reset"}, verb):
		t.queued = append(t.queued, r.args)
		return t.add(r) && c.add(e.answer("+QUEUED"))
	case t.multi && verb == "discard": // which ends WATCH too
		e.raw, *t = []byte("*1\r\n$7\r\nUNWATCH\r\n"), transaction{}
	case t.multi && verb != "exec":
		*t = transaction{}
	}
	e.queued, e.passed, e.raw = t.queued, t.passed, append(t.raw, e.raw...)
	*t = transaction{}
	if cmd, again := c.again(r); again {
		e.cmd = cmd
	} else if !r.isSetup() {
		e.cmd = c.gate.newCommand(c.sender, c.Server, e.request)
		c.gate.enter(e.cmd)
		c.await(e, e.cmd.Decided())
	}
	return c.add(e)
}

func (t *transaction) add(r request) bool {
	t.raw = append(t.raw, r.raw...)
	t.passed++
	return len(t.raw) <= maxSize && t.passed <= maxQueue
}

// answer gives a command its reply without the server.
func (e *entry) answer(reply string) *entry {
	e.state, e.reply = answered, []byte(reply+"\r\n")
	return e
}

// refuse answers a command by why it is not passed on, and notes that.
func (c *conn) refuse(e *entry, why string) *entry {
	c.note(why)
	return e.answer("-ERR " + why)
}

// add appends a command to the queue.
func (c *conn) add(e *entry) bool {
	if e.state == answered {
		defer c.deliver()
	} else {
		e.answered = make(chan struct{})
		e.want = len(e.args) - 1
		defer c.notify()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.queue = append(c.queue, e)
	return len(c.queue) <= maxQueue
}

// await has send look again when a command may be sent on.
func (c *conn) await(e *entry, until <-chan struct{}) {
	e.until = until
	if isClosed(until) {
		return
	}
	c.all.Go(func() {
		select {
		case <-until:
			c.notify()
		case <-c.ended:
		}
	})
}

// send sends the commands on that may be.
func (c *conn) send() {
	defer c.drop()
	defer c.close()
	for !isClosed(c.ended) {
		for _, e := range c.choose() {
			c.pass(e)
		}
		if c.out.Flush() != nil || c.isOver() {
			return
		}
		select {
		case <-c.wake:
		case <-c.ended:
		}
	}
}

// choose returns the commands that may be sent on, in the order in which they came. What is held holds only those that
// depend on it.
func (c *conn) choose() (ready []*entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	held, gone := false, isClosed(c.gone)
	may := make([]bool, len(c.queue))
	for i, e := range slices.Backward(c.queue) { // a gate that opens meanwhile has decided first about what came first
		may[i] = e.until == nil || isClosed(e.until) || gone && !e.late
	}
	for i, e := range c.queue {
		switch {
		case e.state != waiting:
			continue
		case held && e.isOrdered() && !gone:
			return ready
		case may[i]:
			e.state = chosen
			ready = append(ready, e)
		default:
			held = true
		}
	}
	return ready
}

// isOver reports whether the client has gone, and nothing is left to do. What blocks ends with its client.
func (c *conn) isOver() bool {
	if !isClosed(c.gone) {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range c.queue {
		if e.state <= chosen && !slices.Contains(c.sent, e) {
			return false
		}
	}
	return len(c.sent) == 0 || blocked(c.sent)
}

func (c *conn) isBlocked() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return blocked(c.sent)
}

func blocked(sent []*entry) bool {
	return slices.ContainsFunc(sent, func(e *entry) bool { return e.blocks() })
}

// pass does with a command what its gate decides.
func (c *conn) pass(e *entry) {
	switch {
	case e.cmd == nil:
		c.write(e)
		return
	case e.late:
		c.carryOut(e, func() { c.gate.arrive(e.cmd) })
		return
	case e.until == nil: // a script that is sent again
		c.carryOut(e, func() { c.gate.Change(func() { e.cmd.Sent = time.Now() }) })
		return
	}
	d := c.gate.Await(e.cmd, c.gone)
	switch d {
	case schedule.Pass, schedule.LostReply:
		c.carryOut(e, func() { c.gate.settle(e.cmd, d) })
		return
	case schedule.ComesLate:
		c.gate.settle(e.cmd, d)
		arrives := (<-chan struct{})(c.gone)
		if e.cmd.Arrive != nil {
			arrives = e.cmd.Arrive
		}
		c.mu.Lock()
		e.state, e.late = waiting, true
		c.await(e, arrives)
		c.mu.Unlock()
		c.notify()
		return
	}
	c.gate.settle(e.cmd, d)
	c.mu.Lock()
	e.state = lost
	c.mu.Unlock()
	c.gate.finish(e.cmd)
	switch d {
	case schedule.LostRequest:
		c.breakLater()
	case schedule.Refuse:
		c.reset()
	case schedule.Fail:
		c.client.end()
		c.depart()
	}
}

// carryOut sends a command on, and notes that it does.
func (c *conn) carryOut(e *entry, note func()) {
	if c.gate.Look == nil || e.blocks() || e.isAboutChannels() {
		note()
		c.write(e)
		return
	}
	c.gate.Look(e.cmd, func() {
		note()
		c.write(e)
		if c.out.Flush() != nil {
			c.close()
		}
		gone := c.gone
		for {
			select {
			case <-e.answered:
				return
			case <-c.ended:
				return
			case <-gone:
				if gone = nil; c.isBlocked() {
					c.close()
				}
			}
		}
	})
}

// write sends a command to the server.
func (c *conn) write(e *entry) {
	c.mu.Lock()
	c.sent = append(c.sent, e)
	c.mu.Unlock()
	_, _ = c.out.Write(e.raw) // Flush says what fails
	e.raw = nil
}

// breakLater breaks the connection when the client has waited for the reply for some time.
func (c *conn) breakLater() {
	if c.lost == 0 {
		c.reset()
		return
	}
	c.all.Go(func() {
		timer := time.NewTimer(c.lost)
		defer timer.Stop()
		select {
		case <-timer.C:
			c.reset()
		case <-c.gone:
		}
	})
}

// drop ends what is left when the connections have ended.
func (c *conn) drop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range c.queue {
		if e.cmd == nil || e.state == answered {
			continue
		}
		if e.cmd.Decision == schedule.Fail && e.cmd.State == Waiting {
			c.gate.Await(e.cmd, c.gone)
			c.gate.settle(e.cmd, schedule.TooLate)
		}
		c.gate.finish(e.cmd)
	}
}

// receive reads what the server sends.
func (c *conn) receive() {
	defer c.close()
	r := newReader(c.server)
	for {
		v, err := r.reply()
		if err != nil || !c.got(v, r.raw) {
			return
		}
	}
}

// got does with what the server sent what it is: a reply, or something besides. It returns false if it is neither.
func (c *conn) got(v value, raw []byte) bool {
	c.mu.Lock()
	var head *entry
	if len(c.sent) > 0 {
		head = c.sent[0]
	}
	c.mu.Unlock()
	switch news := c.news(v, head); {
	case news != "":
		return c.tell(news, v, raw, head)
	case head == nil: // a server that refuses a connection says so unasked
		c.besides(raw)
		return false
	case head.passed > 0:
		head.passed--
	default:
		c.pop(head, v)
		c.end(head, v, raw)
	}
	return true
}

// pop takes a command off those that were sent on.
func (c *conn) pop(e *entry, v value) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sent = c.sent[1:]
	c.follow(e.verb(), v)
}

// end notes the reply to a command, and delivers it when its turn has come.
func (c *conn) end(e *entry, v value, raw []byte) {
	if v.isError("MOVED") || v.isError("ASK") {
		c.note(noCluster)
		raw = []byte("-ERR " + noCluster + "\r\n")
	}
	cmd := e.cmd
	if cmd != nil && v.isError("NOSCRIPT") && c.remember(e.request, cmd) {
		cmd, e.cmd = nil, nil // the client sends it again, and only then the server carries it out
	}
	if cmd != nil {
		c.gate.record(cmd, v)
	}
	c.mu.Lock()
	e.state, e.reply = answered, raw
	if cmd != nil && cmd.Decision != schedule.Pass {
		e.state = lost
	}
	isLost := e.state == lost
	c.mu.Unlock()
	close(e.answered)
	switch {
	case cmd == nil:
		c.deliver()
	case isLost:
		c.gate.finish(cmd)
		if cmd.Decision == schedule.LostReply {
			c.breakLater()
		}
	default:
		if cmd.Deliver != nil {
			c.all.Go(func() {
				select {
				case <-cmd.Deliver:
					c.deliver()
				case <-c.gone:
				}
			})
		}
		c.deliver()
		c.gate.finish(cmd)
	}
	c.notify() // it may have been the last
}

// deliver passes on the replies that have come, up to the first that has not.
func (c *conn) deliver() {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []byte
	var done []*Command
	for len(c.queue) > 0 {
		e := c.queue[0]
		if e.state != answered || e.cmd != nil && e.cmd.Deliver != nil && !isClosed(e.cmd.Deliver) {
			break
		}
		all = append(append(all, e.reply...), e.after...)
		if e.cmd != nil {
			done = append(done, e.cmd)
		}
		c.queue = c.queue[1:]
	}
	if len(all) == 0 {
		return
	}
	c.client.put(all)
	for _, cmd := range done {
		if !isClosed(c.gone) {
			c.gate.deliver(cmd)
		}
	}
}

// besides passes on what is no reply. It does not overtake a reply that came before it.
func (c *conn) besides(raw []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range slices.Backward(c.queue) {
		if e.state == answered {
			e.after = append(e.after, raw...)
			return
		}
	}
	c.client.put(raw)
}

// isMonitored reports whether a reply is a line of MONITOR: a time comes first.
func isMonitored(v value) bool {
	return v.kind == '+' && v.text != "" && strings.IndexByte("0123456789", v.text[0]) >= 0
}
