package wire

import (
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"stockapi/loadtest/history"
	"stockapi/loadtest/schedule"
)

// A Gate holds the commands that have come to the wires until they are let through.
type Gate struct {
	*schedule.Gate[*Command]

	// Watch, unless nil, is told of each command as its state changes. It must not block, and is called without the
	// gate's lock. It is set before a command comes.
	Watch func(Seen)

	// Look, unless nil, is called for each command that is sent on, blocking ones and subscriptions excepted. It calls
	// carryOut once, which sends the command on and returns when its reply has come or never will. It is set before a
	// command comes. A script that its server does not know is looked at again when its client sends it again.
	Look func(cmd *Command, carryOut func())

	scripts map[string]string // the names of scripts, by digest

	// The gate's lock guards these.
	came int        // counts the commands
	log  []*Command // that are decided about
}

// NewGate returns a gate that is open: instances start first. Scripts are the names of scripts, by digest.
func NewGate(scripts map[string]string) *Gate {
	g := &Gate{Gate: schedule.NewGate[*Command](), scripts: scripts}
	g.OpenAll()
	return g
}

// A Command waits at a wire. So does a message of a subscription, before its receiver gets it.
type Command struct {
	Seen // the gate's lock guards it

	// Deliver, unless nil, is closed when the reply may be passed on. It is set while the command waits.
	Deliver chan struct{}

	// Arrive is closed when a command that comes late may be sent on. It is set while the command waits; if it is nil,
	// the command is sent on as soon as its client has gone.
	Arrive chan struct{}

	// Error answers a command that is refused, such as LOADING …; if it is "", the connection breaks. It is set while the
	// command waits.
	Error string

	late  chan struct{}
	done  chan struct{}
	ended sync.Once
}

// A Seen is a command as its wire has seen it so far.
type Seen struct {
	schedule.Command
	ID         int // counts the commands of a gate, from 1
	Conn       int // counts the connections of its wire, from 1
	Subscribes bool
	Args       []string   // of a transaction those of the first command that does not concern the connection alone
	Queued     [][]string // the commands of a transaction

	State    State
	Decision schedule.Decision // once it waits no more

	Came      time.Time
	Sent      time.Time // when it was sent on; zero: it was not
	Answered  time.Time // when its reply had come; zero: it has not
	Delivered time.Time // when its client was sent the reply; zero: it was not
	Reply     string    // as text that is short: OK, (nil), 1, "98", or an error
	Failed    bool      // there is an error in the reply
}

// A State is the last station of a command on its way.
type State uint8

// The states. A command that is not sent on goes from the first to the last. One that comes late waits until it does.
const (
	Waiting State = iota // at its gate
	Sent                 // to its server
	Done                 // the server has answered, or never will
)

// OnItsWay is closed when a command that comes late has left its client.
func (cmd *Command) OnItsWay() <-chan struct{} { return cmd.late }

// Done is closed when the server has answered, or never will.
func (cmd *Command) Done() <-chan struct{} { return cmd.done }

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

// Traced returns a command as an order's trace has it, without its times.
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

// CommandText returns a command as it was sent, or the transaction that it ends, without the most of what is long, such
// as a script, and without passwords.
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

// WritesStock reports whether a command writes the stock: a transaction does, whatever its first command is about.
func (s *Seen) WritesStock() bool {
	c := s.Traced()
	return c.WritesStock() || s.Name == "exec"
}

// isSentOn reports whether a command that waits no more is sent to its server.
func (s *Seen) isSentOn() bool {
	return s.Decision == schedule.Pass || s.Decision == schedule.LostReply
}

// newCommand describes a request for the gate. Keys are not named: they would change the order in which a trace counts
// the waiting commands, and a replay has one lock.
func (g *Gate) newCommand(c *schedule.Client, s *schedule.Server, r request) *Command {
	return &Command{late: make(chan struct{}), done: make(chan struct{}), Seen: Seen{
		Command: schedule.Command{Client: c, Server: s, Name: r.describe(g.scripts)},
		Args:    r.shown(), Queued: r.queued, Subscribes: r.subscribes()}}
}

// change changes what is seen of a command, and tells the watcher.
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

// Wait returns what is decided about a command. It returns TooLate if gone is closed first: a request whose client has
// closed the connection is never sent on.
func (g *Gate) Wait(cmd *Command, gone <-chan struct{}) schedule.Decision {
	g.enter(cmd)
	d := g.Await(cmd, gone)
	g.settle(cmd, d)
	return d
}

// enter brings a command to the gate.
func (g *Gate) enter(cmd *Command) {
	g.change(cmd, func() {
		g.came++
		cmd.ID, cmd.Came = g.came, time.Now()
	})
	g.Enter(cmd)
}

// settle notes a decision.
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

// arrive notes that a command is sent on which comes late.
func (g *Gate) arrive(cmd *Command) {
	g.change(cmd, func() { cmd.State, cmd.Sent = Sent, time.Now() })
}

// noteReply notes the reply of a server.
func (g *Gate) noteReply(cmd *Command, reply value) {
	text, failed := reply.String(), reply.failed()
	g.change(cmd, func() { cmd.State, cmd.Answered, cmd.Reply, cmd.Failed = Done, time.Now(), text, failed })
}

// deliver notes that a reply was passed on.
func (g *Gate) deliver(cmd *Command) { g.Change(func() { cmd.Delivered = time.Now() }) }

// finish says that the server has answered, or never will.
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

// Begin makes the commands wait from now on. What the clients have sent before, as they started, does not count.
func (g *Gate) Begin() {
	g.Close()
	g.Change(func() { g.log = nil })
}

// LogOf returns the commands of a client that servers have answered.
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

// LateOf returns the commands of a client that are on their way and have not arrived, in the order in which they were
// decided about.
func (g *Gate) LateOf(c *schedule.Client) (late []*Command) {
	g.Each(func(cmd *Command) {
		if cmd.Client == c && cmd.Decision == schedule.ComesLate && cmd.State == Waiting {
			late = append(late, cmd)
		}
	})
	return late
}

// Log returns all commands and messages that were decided about, in that order.
func (g *Gate) Log() (all []Seen) {
	g.Each(func(cmd *Command) { all = append(all, cmd.Seen) })
	return all
}

// Each calls do for all commands and messages that were decided about, in that order. It has the gate's lock.
func (g *Gate) Each(do func(*Command)) {
	g.Change(func() {
		for _, cmd := range g.log {
			do(cmd)
		}
	})
}

// Wrote reports whether a write of the stock was sent on for a client after that moment.
func (g *Gate) Wrote(c *schedule.Client, after time.Time) (wrote bool) {
	g.Change(func() {
		wrote = slices.ContainsFunc(g.log, func(cmd *Command) bool {
			return cmd.Client == c && cmd.Sent.After(after) && cmd.WritesStock()
		})
	})
	return wrote
}
