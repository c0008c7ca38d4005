package wire

import (
	"slices"
	"strings"

	"stockapi/loadtest/schedule"
)

// channels are what a connection knows of its subscriptions, and of what the server sends besides replies.
type channels struct {
	resp3      bool                       // pushes have a type of their own
	monitors   bool                       // it has asked for MONITOR
	subscribed map[string]map[string]bool // by kind: "" for channels, p for patterns, s for shards
	turns      []func()                   // what waits until the messages before it have passed the gate
}

// count returns how many channels there are.
func (c *channels) count() (n int) {
	for _, of := range c.subscribed {
		n += len(of)
	}
	return n
}

// follow notes what the reply to a command changes of the connection.
func (c *channels) follow(verb string, v value) {
	switch {
	case verb == "hello" && v.kind != '-':
		c.resp3 = v.kind == '%'
	case verb == "monitor" && v.kind == '+':
		c.monitors = true
	case verb == "reset" && v.kind == '+':
		c.resp3, c.monitors = false, false
		clear(c.subscribed)
	}
}

// news names what the server sent if it is no reply: message, subscribe, invalidate … Before RESP3 it looks like a
// reply, and comes only where there are subscriptions.
func (c *conn) news(v value, head *entry) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case v.kind == '+' && c.monitors && isMonitored(v):
		return "monitor"
	case v.kind == '>' && len(v.all) > 0:
		return v.all[0].text
	case v.kind == '>':
		return "push"
	case v.kind != '*' || len(v.all) == 0 || c.resp3 ||
		c.count() == 0 && len(c.turns) == 0 && (head == nil || !head.isAboutChannels()):
		return ""
	}
	if name := v.all[0].text; strings.HasSuffix(name, "subscribe") || slices.Contains(messages, name) {
		return name
	}
	return ""
}

// invalidations is the channel of client tracking before RESP3.
const invalidations = "__redis__:invalidate"

// tell passes on what is no reply. A message waits until its gate lets it through, and so does what comes after it of
// subscriptions. It returns false if too much waits.
func (c *conn) tell(news string, v value, raw []byte, head *entry) bool {
	switch {
	case slices.Contains(messages, news) && !(len(v.all) > 1 && v.all[1].text == invalidations):
		return c.inTurn(func() { c.message(v, raw) })
	case !strings.HasSuffix(news, "subscribe"):
		c.besides(raw)
		return true
	}
	kind, ends := strings.CutSuffix(strings.TrimSuffix(news, "subscribe"), "un")
	c.mu.Lock()
	if c.subscribed[kind] == nil {
		c.subscribed[kind] = map[string]bool{}
	}
	switch {
	case ends && len(v.all) > 1:
		delete(c.subscribed[kind], v.all[1].text)
	case len(v.all) > 1:
		c.subscribed[kind][v.all[1].text] = true
	}
	left := len(c.subscribed[kind])
	c.mu.Unlock()
	if head == nil || head.verb() != news {
		return c.inTurn(func() { c.besides(raw) })
	}
	head.reply = append(head.reply, raw...)
	head.want--
	if head.want > 0 || len(head.args) == 1 && left > 0 { // without a channel, it is about all of them
		return true
	}
	c.pop(head, v)
	return c.inTurn(func() { c.end(head, v, head.reply) })
}

// inTurn does something when the messages before it have passed the gate. It returns false if too much waits.
func (c *conn) inTurn(do func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.turns = append(c.turns, do)
	if len(c.turns) == 1 {
		c.all.Go(c.takeTurns)
	}
	return len(c.turns) <= maxQueue
}

func (c *conn) takeTurns() {
	for {
		c.mu.Lock()
		do := c.turns[0]
		c.mu.Unlock()
		do()
		c.mu.Lock()
		c.turns = c.turns[1:]
		left := len(c.turns)
		c.mu.Unlock()
		if left == 0 {
			return
		}
	}
}

// message passes a message on when its gate lets it through.
func (c *conn) message(v value, raw []byte) {
	cmd := &Command{done: make(chan struct{}), Seen: Seen{
		Command: schedule.Command{Client: c.sender, Server: c.Server, Name: "message", Message: true}}}
	for _, part := range v.all {
		cmd.Args = append(cmd.Args, part.text)
	}
	defer c.gate.finish(cmd)
	switch c.gate.Wait(cmd, c.gone) {
	case schedule.Pass:
		c.besides(raw)
		c.gate.deliver(cmd)
	case schedule.TooLate, schedule.Fail:
		c.close()
	}
}
