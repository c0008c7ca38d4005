package wire

import (
	"bufio"
	"errors"
	"net"
	"slices"
	"sync"
	"time"

	"stockapi/loadtest/schedule"
	"stockapi/loadtest/wire/resp"
	"stockapi/loadtest/wire/socket"
)

const (
	// maxKept bounds the bytes that one connection buffers: waiting commands, and the replies behind them. Exceeding it
	// closes the connection.
	maxKept = 4 * resp.MaxSize
	// exchangeSize is the overhead counted for each command on top of its bytes.
	exchangeSize = 1 << 10
)

// A conn is one connection of a client with its own connection to the server. Its commands form a queue: each waits at
// the gate on its own, and may be sent on before earlier ones. Replies are delivered in the order of the queue.
type conn struct {
	wire   *Wire
	number int // within its wire
	client *socket.Outbox
	server net.Conn
	out    *bufio.Writer // to the server; only send uses it
	begun  transaction   // the open one, until its EXEC; only read uses it

	gone        chan struct{} // closed when the client has gone, or was cut off
	ended       chan struct{} // closed when the connection to the server is closed too
	wake        chan struct{} // holds a notice for send
	leave, once sync.Once

	mu      sync.Mutex
	queue   []*exchange // in order of arrival; not yet delivered
	pending []*exchange // in order of arrival; not yet sent on
	sent    []*exchange // in the order sent; not yet answered
	kept    int         // see maxKept
	passing bool        // send is at work
	handled [2]int64    // bytes of the client, and of the server
	channels
}

// An exchange is a command in the queue of its connection, with its reply.
type exchange struct {
	request
	cmd      *Command        // nil: it bypasses the gate
	until    <-chan struct{} // closed when it may be sent on; nil: at any time
	late     bool            // it waits for until even if its client has gone
	skipped  int             // replies before its own that the wire has already sent
	want     int             // channels that the server has yet to confirm
	answered chan struct{}   // closed when the server has answered
	looked   chan struct{}   // of a blocking command: closed after the look that follows its reply
	reply    []byte          // including the pushes that followed it
	ready    bool            // the reply may be delivered
}

func newConn(w *Wire, client, server net.Conn) *conn {
	return &conn{wire: w, client: &socket.Outbox{Conn: client, All: &w.all}, server: server, out: bufio.NewWriter(server),
		gone: make(chan struct{}), ended: make(chan struct{}), wake: make(chan struct{}, 1),
		channels: channels{subscribed: map[string]map[string]bool{}}}
}

// serve serves the connection until it closes.
func (c *conn) serve() {
	var ends sync.WaitGroup
	ends.Go(c.read)
	ends.Go(c.receive)
	c.send()
	c.close()
	ends.Wait()
	c.drop()
}

// close closes both connections.
func (c *conn) close() {
	c.once.Do(func() {
		close(c.ended)
		_ = c.server.Close()
		c.client.Shut()
		c.depart()
	})
}

// depart notes that the client has gone. Commands already sent are still answered, so that the record has their
// replies.
func (c *conn) depart() {
	c.leave.Do(func() { close(c.gone) })
	c.notify()
}

// reset breaks the connection to the client.
func (c *conn) reset() {
	c.client.Reset()
	c.depart()
}

// notify wakes send.
func (c *conn) notify() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// IsClosed reports whether a channel is closed.
func IsClosed(done <-chan struct{}) bool {
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
	r := resp.NewReader(c.client)
	for {
		args, err := r.Command()
		unreadable := errors.Is(err, resp.ErrProtocol) || errors.Is(err, resp.ErrTooMuch) || errors.Is(err, resp.ErrTLS)
		if unreadable {
			c.add(c.refuse(&exchange{}, err.Error()))
		}
		if err == nil || unreadable {
			c.wire.spoken.Store(true)
		}
		if err != nil || IsClosed(c.ended) {
			return
		}
		if !c.enqueue(request{raw: r.Raw, args: args}.withUser()) {
			c.wire.note(resp.ErrProtocol.Error())
			c.close()
			return
		}
		c.noteHandled(ofClient, r.Raw)
	}
}

// enqueue puts a command into the queue. It returns false if the connection buffers too much.
func (c *conn) enqueue(r request) bool {
	e := &exchange{request: r}
	if why := r.refusal(c.begun.multi); why != "" {
		return c.add(c.refuse(e, why))
	}
	if reply := c.begun.collect(r); reply != "" {
		return c.begun.size() <= maxKept && c.add(e.answer(reply))
	}
	c.begun.attach(e)
	if cmd, again := c.wire.again(r); again {
		e.cmd = cmd
	} else if !r.isSetup() {
		e.cmd = c.wire.gate.newCommand(c.wire.sender, c.wire.Server, e.request)
		e.cmd.Conn = c.number
		e.cmd.Notify = c.notify
		c.wire.gate.enter(e.cmd)
		e.until = e.cmd.Decided()
	}
	return c.add(e)
}

// answer sets a command's reply without asking the server.
func (e *exchange) answer(reply string) *exchange {
	e.raw, e.reply, e.ready = nil, []byte(reply+"\r\n"), true
	return e
}

// refuse answers a command with the reason why it is not sent on, and records the reason.
func (c *conn) refuse(e *exchange, why string) *exchange {
	c.wire.note(why)
	return e.answer("-ERR " + why)
}

// add appends a command to the queue.
func (c *conn) add(e *exchange) bool {
	if e.ready {
		defer c.deliver()
	} else {
		e.answered, e.want = make(chan struct{}), len(e.args)-1
		defer c.notify()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.queue = append(c.queue, e)
	if !e.ready {
		c.pending = append(c.pending, e)
	}
	c.kept += exchangeSize + len(e.raw) + len(e.reply)
	return c.kept <= maxKept
}

// send sends on each command as soon as it may pass.
func (c *conn) send() {
	for !IsClosed(c.ended) {
		ready := c.choose()
		for _, e := range ready {
			c.pass(e)
		}
		if c.out.Flush() != nil || c.isOver() {
			return
		}
		c.passed()
		if len(ready) > 0 {
			continue // those that were refused or lost no longer hold others back
		}
		select {
		case <-c.wake:
		case <-c.ended:
		}
	}
}

// choose takes the commands that may be sent on, and notes that they are being passed.
func (c *conn) choose() (ready []*exchange) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ready, c.pending = c.split()
	c.passing = len(ready) > 0
	return ready
}

// passed notes that the commands taken by choose were passed.
func (c *conn) passed() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.passing = false
}

// split returns the pending commands that may be sent on, and those that are left, both in order of arrival. A held
// command holds back only those that depend on it. A blocking one holds back all, as it does at the server.
func (c *conn) split() (ready, left []*exchange) {
	gone := IsClosed(c.gone)
	may := make([]bool, len(c.pending))
	for i, e := range slices.Backward(c.pending) {
		may[i] = e.until == nil || IsClosed(e.until) || gone && !e.late
	}
	stop := blocked(c.sent)
	for i, e := range c.pending {
		stop = stop || len(left) > 0 && e.isOrdered() && !gone
		if stop || !may[i] {
			left = append(left, e)
			continue
		}
		ready = append(ready, e)
		stop = e.blocks()
	}
	return ready, left
}

// isOver reports whether the client has gone and nothing is left to do. A blocking command is abandoned with its
// client, once the commands before it are answered.
func (c *conn) isOver() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return IsClosed(c.gone) && (len(c.pending)+len(c.sent) == 0 || len(c.sent) == 1 && blocked(c.sent))
}

// blocked reports whether the last command sent on may block at the server.
func blocked(sent []*exchange) bool { return len(sent) > 0 && sent[len(sent)-1].blocks() }

// pass carries out the gate's decision about a command.
func (c *conn) pass(e *exchange) {
	switch {
	case e.cmd == nil:
		c.write(e)
		return
	case e.late:
		c.carryOut(e, func() { c.wire.gate.arrive(e.cmd) })
		return
	case e.until == nil: // a resent script
		c.carryOut(e, func() { c.wire.gate.Change(func() { e.cmd.Sent = time.Now() }) })
		return
	}
	d := c.wire.gate.Await(e.cmd, c.gone)
	if d == schedule.Pass || d == schedule.LostReply {
		c.carryOut(e, func() { c.wire.gate.settle(e.cmd, d) })
		return
	}
	c.wire.gate.settle(e.cmd, d)
	if d == schedule.ComesLate {
		c.postpone(e)
		close(e.cmd.late)
		if c.wire.lost > 0 { // otherwise its client waits for its own timeout
			c.breakLater()
		}
		return
	}
	c.wire.gate.finish(e.cmd)
	switch d {
	case schedule.LostRequest:
		c.breakLater()
	case schedule.Refuse:
		if e.cmd.Error != "" {
			c.fail(e)
			return
		}
		c.reset()
	case schedule.Fail:
		c.client.Shut()
		c.depart()
	}
}

// fail answers a command with its error instead of sending it on. This ends its transaction and the client's WATCH.
func (c *conn) fail(e *exchange) {
	text := "-" + e.cmd.Error
	if e.verb() == "exec" {
		text = "-EXECABORT Transaction discarded because of: " + e.cmd.Error
		c.write(&exchange{request: request{raw: []byte(unwatch)}, answered: make(chan struct{})})
	}
	c.mu.Lock()
	c.kept -= len(e.raw)
	c.kept += len(e.answer(text).reply)
	c.mu.Unlock()
	c.deliver()
}

// postpone keeps a late command waiting.
func (c *conn) postpone(e *exchange) {
	e.late, e.until = true, c.gone
	if arrive := e.cmd.Arrive; arrive != nil {
		e.until = arrive
		c.wire.all.Go(func() {
			select {
			case <-arrive:
				c.notify()
			case <-c.ended:
			}
		})
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pending = slices.Insert(c.pending, 0, e) // it is independent of all those before it
}

// carryOut sends a command on, and calls note just before.
func (c *conn) carryOut(e *exchange, note func()) {
	if c.wire.gate.Look == nil || e.isAboutChannels() {
		note()
		c.write(e)
		return
	}
	if e.blocks() { // send must not wait here: the client may go before the reply
		looks := make(chan struct{})
		e.looked = make(chan struct{})
		c.wire.all.Go(func() {
			defer close(e.looked)
			c.wire.gate.Look(e.cmd, func() {
				close(looks)
				select {
				case <-e.answered:
				case <-c.ended:
				}
			})
		})
		<-looks
		note()
		c.write(e)
		return
	}
	c.wire.gate.Look(e.cmd, func() {
		note()
		c.write(e)
		if c.out.Flush() != nil {
			c.close()
		}
		select {
		case <-e.answered:
		case <-c.ended:
		}
	})
}

// write sends a command to the server.
func (c *conn) write(e *exchange) {
	c.mu.Lock()
	raw := e.raw
	e.raw = nil // cleared first: the reply may be handled while this writes
	c.sent = append(c.sent, e)
	c.kept -= len(raw)
	c.mu.Unlock()
	_, _ = c.out.Write(raw) // Flush returns the error
}

// breakLater breaks the connection after the client's timeout.
func (c *conn) breakLater() {
	if c.wire.lost == 0 {
		c.reset()
		return
	}
	c.wire.all.Go(func() {
		timer := time.NewTimer(c.wire.lost)
		defer timer.Stop()
		select {
		case <-timer.C:
			c.reset()
		case <-c.gone:
		}
	})
}

// drop finishes the commands that are left when the connections have closed.
func (c *conn) drop() {
	for _, e := range c.pending {
		if e.cmd != nil && e.until != nil && !e.late {
			c.wire.gate.Await(e.cmd, c.gone) // take it off the gate
			c.wire.gate.settle(e.cmd, schedule.TooLate)
		}
	}
	for _, e := range slices.Concat(c.pending, c.sent) {
		if e.cmd != nil {
			c.wire.gate.finish(e.cmd)
		}
	}
}

// receive reads what the server sends.
func (c *conn) receive() {
	defer c.close()
	r := resp.NewReader(c.server)
	for {
		v, err := r.Reply()
		if errors.Is(err, resp.ErrProtocol) || errors.Is(err, resp.ErrTooMuch) {
			c.wire.note(c.wire.Server.Name + ": " + err.Error())
		}
		if err != nil || !c.handle(v, r.Raw) {
			return
		}
		c.noteHandled(ofServer, r.Raw)
	}
}

// The sides of a connection.
const (
	ofClient = iota
	ofServer
)

// noteHandled notes that bytes were handled that one side has sent.
func (c *conn) noteHandled(side int, raw []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.handled[side] += int64(len(raw))
}

// isBusy reports whether anything is on its way to the client or the server that nothing holds, or has come and is yet
// to be handled. A command that may block at the server is not on its way.
func (c *conn) isBusy() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if ready, _ := c.split(); c.passing || len(ready) > 0 || len(c.sent) > 0 && !blocked(c.sent) || len(c.sent) > 1 {
		return true
	}
	for side, end := range []net.Conn{ofClient: c.client.Conn, ofServer: c.server} {
		if n, known := socket.Received(end); known && n > c.handled[side] {
			return true
		}
	}
	return false
}

// handle passes on a reply or a push. It returns false for an unsolicited value, or if the connection buffers too much.
func (c *conn) handle(v resp.Value, raw []byte) bool {
	c.mu.Lock()
	var head *exchange
	if len(c.sent) > 0 {
		head = c.sent[0]
	}
	tooMuch := c.kept > maxKept
	c.mu.Unlock()
	switch push := c.pushOf(v, head); {
	case tooMuch:
		c.wire.note(c.wire.Server.Name + ": " + resp.ErrProtocol.Error())
		return false
	case push != "":
		c.deliverPush(push, v, raw, head)
	case head == nil: // such as the error of a server that refuses the connection
		c.deliverRaw(raw)
		return false
	case head.skipped > 0:
		head.skipped--
	default:
		if v.IsError("MOVED") || v.IsError("ASK") {
			c.wire.note(noCluster)
			raw = []byte("-ERR " + noCluster + "\r\n")
		}
		c.pop(head, v)
		c.keep(head, raw)
		c.complete(head, v)
	}
	return true
}

// pop removes a command from those awaiting replies.
func (c *conn) pop(e *exchange, v resp.Value) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sent = c.sent[1:]
	c.follow(e.verb(), v)
}

// keep appends to a command's reply.
func (c *conn) keep(e *exchange, raw []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e.reply = append(e.reply, raw...)
	c.kept += len(raw)
}

// complete records the reply to a command, and delivers it in order.
func (c *conn) complete(e *exchange, v resp.Value) {
	defer c.notify() // it may have been the last, or have blocked others
	cmd := e.cmd
	if cmd != nil && v.IsError("NOSCRIPT") && !e.late && c.wire.remember(e.request, cmd) {
		cmd, e.cmd = nil, nil // the client resends it, and only then does it run
	}
	if cmd == nil {
		close(e.answered)
		c.release(e)
		return
	}
	c.wire.gate.noteReply(cmd, v)
	close(e.answered)
	if e.looked != nil { // it took no turn, so wait until its effect is known
		<-e.looked
	}
	switch {
	case cmd.Decision != schedule.Pass: // the reply never reaches its client
		if cmd.Decision == schedule.LostReply {
			c.breakLater()
		}
	case cmd.Deliver != nil:
		c.wire.all.Go(func() {
			select {
			case <-cmd.Deliver:
				c.release(e)
			case <-c.ended:
			}
		})
	default:
		c.release(e)
	}
	c.wire.gate.finish(cmd)
}

// release marks a reply as deliverable.
func (c *conn) release(e *exchange) {
	c.mu.Lock()
	e.ready = true
	c.mu.Unlock()
	c.deliver()
}

// deliver sends the replies that are ready, up to the first that is not.
func (c *conn) deliver() {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []byte
	var done []*Command
	for len(c.queue) > 0 && c.queue[0].ready {
		e := c.queue[0]
		all = append(all, e.reply...)
		if e.cmd != nil {
			done = append(done, e.cmd)
		}
		c.queue = c.queue[1:]
		c.kept -= exchangeSize + len(e.reply)
	}
	if len(all) == 0 {
		return
	}
	gone, now := IsClosed(c.gone), time.Now() // read first: a client may go as soon as it has its reply
	c.client.Put(all)
	for _, cmd := range done {
		if !gone {
			c.wire.gate.deliver(cmd, now)
		}
	}
}

// deliverRaw forwards a push, without overtaking an earlier reply.
func (c *conn) deliverRaw(raw []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range slices.Backward(c.queue) {
		if e.reply != nil {
			e.reply = append(e.reply, raw...)
			c.kept += len(raw)
			return
		}
	}
	c.client.Put(raw)
}
