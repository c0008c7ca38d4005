package wire

import (
	"bufio"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2/proto"

	"stockapi/loadtest/schedule"
)

// A conn is one connection of the instance, and the one to the server that belongs to it.
type conn struct {
	*Wire
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

// request does with a request what its gate decides. It returns false if the connection is of no more use.
func (c *conn) request(r request) bool {
	cmd, again := c.again(r)
	if again {
		c.gate.Change(func() { cmd.Sent = time.Now() })
	} else {
		cmd = c.gate.newCommand(c.sender, c.Server, r)
		c.gate.Wait(cmd, c.gone)
	}
	switch cmd.Decision {
	case schedule.Pass, schedule.LostReply:
		return c.answer(cmd, r)
	case schedule.LostRequest:
		c.gate.finish(cmd)
		c.breakLater()
	case schedule.Refuse:
		c.reset()
	}
	c.gate.finish(cmd)
	return false
}

// answer sends a request on, and its reply back unless its gate says otherwise.
func (c *conn) answer(cmd *Command, r request) bool {
	replies, ok := c.carryOut(r)
	if ok && isUnknownScript(replies[0]) { // the client sends it again, and only then the server carries it out
		c.remember(r, cmd)
		return c.write(replies...)
	}
	if ok {
		c.gate.record(cmd, replies[len(replies)-1])
	}
	defer c.gate.finish(cmd)
	switch {
	case !ok:
		return false
	case cmd.Decision == schedule.LostReply:
		c.gate.finish(cmd)
		c.breakLater()
		return false
	case cmd.Delivered != nil:
		c.gate.finish(cmd)
		select {
		case <-cmd.Delivered:
		case <-c.gone:
			return false
		}
	}
	return c.write(replies...)
}

// carryOut sends a request to the server, and returns the replies to all of its commands.
func (c *conn) carryOut(r request) (replies []string, ok bool) {
	if _, err := c.upstream.Write(r.raw); err != nil {
		return nil, false
	}
	for range r.cmds {
		reply, err := proto.Read(c.replies)
		if err != nil {
			return replies, false
		}
		replies = append(replies, reply)
	}
	return replies, true
}

// forward sends a request on and its replies back, whatever its gate says.
func (c *conn) forward(r request) bool {
	replies, ok := c.carryOut(r)
	return ok && c.write(replies...)
}

func (c *conn) write(replies ...string) bool {
	_, err := io.WriteString(c.instance, strings.Join(replies, ""))
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

// subscribe has the server carry out a subscription when its gate lets it through. From then on the server sends what
// it likes.
func (c *conn) subscribe(r request) bool {
	cmd := c.gate.newCommand(c.sender, c.Server, r)
	if c.gate.Wait(cmd, c.gone) != schedule.Pass {
		c.gate.finish(cmd)
		return false
	}
	c.mu.Lock()
	first := !c.subscribed
	c.subscribed = true
	c.mu.Unlock()
	if first {
		c.all.Go(func() { c.deliver(cmd) })
	} else {
		c.gate.finish(cmd)
	}
	_, err := c.upstream.Write(r.raw)
	return err == nil
}

// deliver passes on what the server sends on a subscription. A message waits until its gate lets it through, and so
// does what comes after it.
func (c *conn) deliver(subscription *Command) {
	defer c.close()
	defer c.gate.finish(subscription)
	for {
		reply, err := proto.Read(c.replies)
		if err != nil {
			return
		}
		if !isMessage(reply) {
			if !c.write(reply) {
				return
			}
			c.gate.finish(subscription)
			continue
		}
		cmd := &Command{done: make(chan struct{}), Seen: Seen{
			Command: schedule.Command{Client: c.sender, Server: c.Server, Name: "message", Message: true}}}
		switch c.gate.Wait(cmd, c.gone) {
		case schedule.Pass:
			c.write(reply)
		case schedule.TooLate, schedule.Fail:
			return
		}
		c.gate.finish(cmd)
	}
}
