package wire

import (
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"stockapi/loadtest/history"
	"stockapi/loadtest/schedule"
	"stockapi/loadtest/wire/resp"
)

// A Gate holds the commands that arrive at the wires until they may pass.
type Gate struct {
	*schedule.Gate[*Command]

	// Watch, unless nil, is called with each command as its state changes, without holding the gate's lock. It must not
	// block. Set it before any command arrives.
	Watch func(Seen)

	// Look, unless nil, is called for each command that is sent on, except subscriptions. It calls carryOut once, which
	// sends the command on and returns when its reply has arrived or never will. Set it before any command arrives. A
	// script that the server does not know gets another call when its client resends it.
	Look func(cmd *Command, carryOut func())

	scripts map[string]string // names of scripts, by digest

	// The gate's lock guards these.
	came int        // the commands so far
	log  []*Command // those with a decision
}

// NewGate returns an open gate, so that instances can start. Scripts maps digests to names.
func NewGate(scripts map[string]string) *Gate {
	g := &Gate{Gate: schedule.NewGate[*Command](), scripts: scripts}
	g.OpenAll()
	return g
}

// A Command waits at a wire. So does a message of a subscription, before it is delivered.
type Command struct {
	Seen // the gate's lock guards it

	// Deliver, unless nil, is closed when the reply may be delivered. It is set while the command waits.
	Deliver chan struct{}

	// Arrive is closed when a late command may be sent on. It is set while the command waits; if nil, the command is sent
	// on as soon as its client has gone.
	Arrive chan struct{}

	// Error answers a refused command, such as LOADING …; if "", the connection breaks. It is set while the command waits.
	Error string

	late  chan struct{}
	done  chan struct{}
	heard chan struct{}
	ended sync.Once
}

// A Seen is a command as its wire has seen it so far.
type Seen struct {
	schedule.Command
	ID         int // within the gate, from 1
	Conn       int // within its wire, from 1
	Subscribes bool
	Blocks     bool       // it may block at the server
	Args       []string   // in a transaction: those of its first command that is not connection setup
	Queued     [][]string // the commands of a transaction

	State    State
	Decision schedule.Decision // once made

	Came      time.Time
	Sent      time.Time // zero: it was not sent on
	Answered  time.Time // when its reply arrived; zero: not yet
	Delivered time.Time // when its client was sent the reply; zero: it was not
	Reply     string    // shortened: OK, (nil), 1, "98", or an error
	Failed    bool      // the reply contains an error
}

// A State is how far a command has got.
type State uint8

// A command that is not sent on goes from Waiting to Done. A late one is Waiting until it is sent on.
const (
	Waiting State = iota // at its gate
	Sent                 // to its server
	Done                 // the server has answered, or never will
)

// OnItsWay is closed when a late command has left its client.
func (cmd *Command) OnItsWay() <-chan struct{} { return cmd.late }

// Done is closed when the server has answered, or never will.
func (cmd *Command) Done() <-chan struct{} { return cmd.done }

// Heard is closed when its client was sent the reply.
func (cmd *Command) Heard() <-chan struct{} { return cmd.heard }

// On returns the first key of a command, as its client sent it; "" if it has none.
func (s *Seen) On() string {
	switch {
	case len(s.Args) > 3 && isScriptCall(s.Args):
		if n, err := strconv.Atoi(s.Args[2]); err != nil || n == 0 {
			return ""
		}
		return s.Args[3]
	case len(s.Args) > 1 && !isScriptCall(s.Args):
		return s.Args[1]
	}
	return ""
}

// Traced returns the command as an entry of an order's trace, without times.
func (s *Seen) Traced() history.Command {
	c := history.Command{Node: s.Server.Host, Cmd: s.Name, Key: s.On(), Reply: s.Reply, Source: history.Unseen}
	if s.Failed {
		c.Reply, c.Err = "", s.Reply
	}
	if s.Answered.IsZero() || history.SourceOf(c.Cmd, c.Err) == history.ReplyLost {
		c.Source = history.ReplyLost
	}
	return c
}

// longest bounds an argument in the text of a command, in bytes.
const longest = 48

// CommandText returns a command or a whole transaction as sent, with long arguments such as scripts shortened, and
// without passwords.
func CommandText(args []string, queued [][]string) string {
	if len(queued) == 0 {
		return shortened(args)
	}
	words := []string{"MULTI"}
	for _, one := range queued {
		words = append(words, shortened(one))
	}
	return strings.Join(append(words, "EXEC"), "; ")
}

func shortened(args []string) string {
	short := slices.Clone(args)
	for i, arg := range args {
		if len(arg) > longest {
			short[i] = strings.ToValidUTF8(arg[:longest], "") + "…"
		}
	}
	if len(args) > 0 && slices.Contains([]string{"AUTH", "HELLO", "ACL", "CONFIG"}, strings.ToUpper(args[0])) {
		short = args[:1]
	}
	return history.Clip(strings.Join(short, " "))
}

// WritesStock reports whether a command writes the stock. A transaction always counts as a write.
func (s *Seen) WritesStock() bool {
	c := s.Traced()
	return c.WritesStock() || s.Name == "exec"
}

// isSentOn reports whether the decision about a command sends it to its server.
func (s *Seen) isSentOn() bool {
	return s.Decision == schedule.Pass || s.Decision == schedule.LostReply
}

// newCommand describes a request for the gate. Its name has no key: keys would change how a trace counts waiting
// commands, and a replay has one lock.
func (g *Gate) newCommand(c *schedule.Client, s *schedule.Server, r request) *Command {
	return &Command{late: make(chan struct{}), done: make(chan struct{}), heard: make(chan struct{}), Seen: Seen{
		Command: schedule.Command{Client: c, Server: s, Name: r.describe(g.scripts)},
		Args:    r.shown(), Queued: r.queued, Subscribes: r.subscribes(),
		Blocks: r.blocks()}}
}

// change changes the record of a command, and notifies the watcher.
func (g *Gate) change(cmd *Command, do func()) {
	var seen Seen
	g.Change(func() {
		do()
		seen = cmd.Seen
	})
	if g.Watch != nil {
		g.Watch(seen)
	}
}

// Wait returns the decision about a command, or TooLate if gone is closed first: the request of a client that has
// disconnected is never sent on.
func (g *Gate) Wait(cmd *Command, gone <-chan struct{}) schedule.Decision {
	g.enter(cmd)
	d := g.Await(cmd, gone)
	g.settle(cmd, d)
	return d
}

// enter puts a command at the gate.
func (g *Gate) enter(cmd *Command) {
	g.change(cmd, func() {
		g.came++
		cmd.ID, cmd.Came = g.came, time.Now()
	})
	g.Enter(cmd)
}

// settle records a decision.
func (g *Gate) settle(cmd *Command, d schedule.Decision) {
	g.change(cmd, func() {
		cmd.Decision = d
		switch {
		case cmd.isSentOn():
			cmd.State, cmd.Sent = Sent, time.Now()
		case d != schedule.ComesLate:
			cmd.State = Done
		}
		g.log = append(g.log, cmd)
	})
}

// arrive records that a late command is sent on.
func (g *Gate) arrive(cmd *Command) {
	g.change(cmd, func() { cmd.State, cmd.Sent = Sent, time.Now() })
}

// noteReply records the server's reply.
func (g *Gate) noteReply(cmd *Command, reply resp.Value) {
	text, failed := reply.String(), reply.Failed()
	g.change(cmd, func() { cmd.State, cmd.Answered, cmd.Reply, cmd.Failed = Done, time.Now(), text, failed })
}

// deliver records that a reply was delivered. The time is that before it was sent, so that what the client does with it
// comes later.
func (g *Gate) deliver(cmd *Command, at time.Time) {
	g.Change(func() {
		cmd.Delivered = at
		close(cmd.heard)
	})
}

// finish marks a command as done: the server has answered, or never will.
func (g *Gate) finish(cmd *Command) {
	cmd.ended.Do(func() {
		var seen Seen
		told := false
		g.Change(func() {
			told = cmd.State == Done
			cmd.State = Done
			seen = cmd.Seen
		})
		if !told && g.Watch != nil {
			g.Watch(seen)
		}
		close(cmd.done)
	})
}

// Begin closes the gate from now on, and forgets the commands of startup.
func (g *Gate) Begin() {
	g.Close()
	g.Change(func() { g.log = nil })
}

// LogOf returns the answered commands of a client.
func (g *Gate) LogOf(c *schedule.Client) (answered []*Command) {
	g.Change(func() {
		for _, cmd := range g.log {
			if cmd.Client == c && !cmd.Answered.IsZero() {
				answered = append(answered, cmd)
			}
		}
	})
	return answered
}

// LateOf returns the commands of a client that are on their way and have not arrived, in the order of their decisions.
func (g *Gate) LateOf(c *schedule.Client) (late []*Command) {
	g.Each(func(cmd *Command) {
		if cmd.Client == c && cmd.Decision == schedule.ComesLate && cmd.State == Waiting {
			late = append(late, cmd)
		}
	})
	return late
}

// Log returns all commands and messages with a decision, in that order.
func (g *Gate) Log() (all []Seen) {
	g.Each(func(cmd *Command) { all = append(all, cmd.Seen) })
	return all
}

// Each calls do for all commands and messages with a decision, in that order, with the gate's lock held.
func (g *Gate) Each(do func(*Command)) {
	g.Change(func() {
		for _, cmd := range g.log {
			do(cmd)
		}
	})
}

// Wrote reports whether a write of the stock was sent on for a client after that time.
func (g *Gate) Wrote(c *schedule.Client, after time.Time) (wrote bool) {
	g.Change(func() {
		wrote = slices.ContainsFunc(g.log, func(cmd *Command) bool {
			return cmd.Client == c && cmd.Sent.After(after) && cmd.WritesStock()
		})
	})
	return wrote
}
