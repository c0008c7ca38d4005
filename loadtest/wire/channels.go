package wire

import (
	"slices"
	"strings"
	"time"

	"stockapi/loadtest/schedule"
	"stockapi/loadtest/wire/resp"
)

// channels holds a connection's subscriptions, and its other state that decides whether a value is a reply.
type channels struct {
	resp3      bool                       // pushes have a type of their own
	monitors   bool                       // MONITOR is on
	subscribed map[string]map[string]bool // by kind: "" for channels, p for patterns, s for shards
	pushes     []func()                   // run one by one, each once the message before it has passed the gate
}

// count returns the number of subscribed channels.
func (c *channels) count() (n int) {
	for _, of := range c.subscribed {
		n += len(of)
	}
	return n
}

// follow updates the connection's mode after the reply to a command.
func (c *channels) follow(verb string, v resp.Value) {
	switch {
	case verb == "hello" && v.Kind != '-':
		c.resp3 = v.Kind == '%'
	case verb == "monitor" && v.Kind == '+':
		c.monitors = true
	case verb == "reset" && v.Kind == '+':
		c.resp3, c.monitors = false, false
		clear(c.subscribed)
	}
}

// pushOf returns the kind of a push, such as message, subscribe or invalidate; "" for a reply. Before RESP3 it looks
// like a reply, but arrives only on connections with subscriptions.
func (c *conn) pushOf(v resp.Value, head *exchange) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case v.Kind == '+' && c.monitors && isMonitored(v):
		return "monitor"
	case v.Kind == '>' && len(v.All) > 0:
		return v.All[0].Text
	case v.Kind == '>':
		return "push"
	case v.Kind == '*' && len(v.All) > 0 && !c.resp3 && c.expects(head):
		if name := v.All[0].Text; strings.HasSuffix(name, "subscribe") || slices.Contains(messages, name) {
			return name
		}
	}
	return ""
}

// isMonitored reports whether a value is a line of MONITOR: those begin with a time.
func isMonitored(v resp.Value) bool {
	return v.Text != "" && strings.IndexByte("0123456789", v.Text[0]) >= 0
}

// expects reports whether an array may be a push rather than a reply.
func (c *conn) expects(head *exchange) bool {
	return c.count() > 0 || len(c.pushes) > 0 || head != nil && head.isAboutChannels()
}

// invalidations is the channel of client tracking before RESP3.
const invalidations = "__redis__:invalidate"

// deliverPush forwards a push. A message waits at the gate, and holds back later messages and confirmations.
func (c *conn) deliverPush(push string, v resp.Value, raw []byte, head *exchange) {
	tracks := push == "invalidate" || len(v.All) > 1 && v.All[1].Text == invalidations
	switch {
	case slices.Contains(messages, push) && !tracks:
		c.queuePush(raw, func() { c.message(v, raw) })
		return
	case !strings.HasSuffix(push, "subscribe"):
		c.deliverRaw(raw)
		if tracks {
			c.wire.mu.Lock()
			c.wire.tracked = append(c.wire.tracked, time.Now())
			c.wire.mu.Unlock()
		}
		return
	}
	left := c.subscribe(push, v)
	if head == nil || head.verb() != push {
		c.queuePush(raw, func() { c.deliverRaw(raw) })
		return
	}
	head.want--
	more := head.want > 0 || len(head.args) == 1 && left > 0 // without arguments it unsubscribes from all channels
	if !more {
		c.pop(head, v)
	}
	c.queuePush(raw, func() {
		c.keep(head, raw)
		if !more {
			c.complete(head, v)
		}
	})
}

// subscribe records a subscription or an unsubscription, and returns the number left of that kind.
func (c *conn) subscribe(push string, v resp.Value) (left int) {
	kind, ends := strings.CutSuffix(strings.TrimSuffix(push, "subscribe"), "un")
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.subscribed[kind] == nil {
		c.subscribed[kind] = map[string]bool{}
	}
	switch {
	case len(v.All) < 2:
	case ends:
		delete(c.subscribed[kind], v.All[1].Text)
	default:
		c.subscribed[kind][v.All[1].Text] = true
	}
	return len(c.subscribed[kind])
}

// queuePush runs do once the earlier messages have passed the gate.
func (c *conn) queuePush(raw []byte, do func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	size := exchangeSize + len(raw)
	c.kept += size
	c.pushes = append(c.pushes, func() {
		do()
		c.mu.Lock()
		defer c.mu.Unlock()
		c.kept -= size
	})
	if len(c.pushes) == 1 {
		c.wire.all.Go(c.takeTurns)
	}
}

func (c *conn) takeTurns() {
	for left := true; left; {
		c.mu.Lock()
		do := c.pushes[0]
		c.mu.Unlock()
		do()
		c.mu.Lock()
		c.pushes = c.pushes[1:]
		left = len(c.pushes) > 0
		c.mu.Unlock()
	}
}

// message forwards a message once the gate passes it.
func (c *conn) message(v resp.Value, raw []byte) {
	cmd := &Command{done: make(chan struct{}), heard: make(chan struct{}), Seen: Seen{
		Command: schedule.Command{Client: c.wire.sender, Server: c.wire.Server, Name: "message", Message: true}}}
	for _, part := range v.All {
		cmd.Args = append(cmd.Args, part.Text)
	}
	defer c.wire.gate.finish(cmd)
	switch c.wire.gate.Wait(cmd, c.gone) {
	case schedule.Pass:
		now := time.Now()
		c.deliverRaw(raw)
		c.wire.gate.deliver(cmd, now)
	case schedule.TooLate, schedule.Fail:
		c.close()
	}
}
