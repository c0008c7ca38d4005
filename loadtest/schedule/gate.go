package schedule

import (
	"cmp"
	"slices"
	"strings"
	"sync"
)

// A Gate holds each command of each client until a scheduler decides about it. C is its user's type of command, with a
// [Command] embedded.
type Gate[C Waiting] struct {
	Arrived chan struct{} // holds one notice that a command has arrived, or that an order has ended

	mu      sync.Mutex
	waiting []C
	open    bool // commands of live clients pass immediately
	moves   int  // counts all events
}

// Waiting is what a gate needs of a command: a pointer to a type that embeds [Command] implements it.
type Waiting interface {
	comparable
	AtGate() *Command
}

// A Command waits at a gate. So does a message of a subscription, before it is delivered.
type Command struct {
	Client  *Client
	Server  *Server
	Name    string   // in lower case; of a script its name: "eval:release"
	Keys    []string // all keys that it reads or writes
	Message bool
	Nth     int // how many earlier commands with this name and key the client sent to this server

	// Notify, unless nil, is called once a decision is made. It must not block, and is called under the gate's lock.
	Notify func()

	decided  chan struct{} // closed when a decision is made
	decision Decision
}

// A Client is one client of a schedule, as its gate sees it. The gate's lock guards its mutable fields: see
// [Gate.Change].
type Client struct {
	Index int
	Name  string
	Held  bool // its commands wait while time passes
	Dead  bool // its commands wait for ever

	gone bool // its commands fail
	sent map[string]int
}

// A Server is one Redis server, as a gate sees it.
type Server struct {
	Index int    // 0: that of the stock
	Name  string // stock, lock, or of a Redlock node 1, 2, 3 …
	Host  string // host:port of a real one
	Down  bool   // the gate's lock guards it
}

// A Decision is what a scheduler decides about one command.
type Decision uint8

// The decisions.
const (
	Fail        Decision = iota // its client no longer matters
	Pass                        // it is carried out
	Refuse                      // its server cannot be reached; a message is lost
	LostRequest                 // it is never carried out; its client waits in vain for the reply
	LostReply                   // it is carried out; its client waits in vain for the reply
	ComesLate                   // its client waits in vain for the reply; it may still be carried out later
	TooLate                     // no decision: its context, or its connection, has ended
)

// NewGate returns a closed gate.
func NewGate[C Waiting]() *Gate[C] { return &Gate[C]{Arrived: make(chan struct{}, 1)} }

// AtGate returns the embedded command.
func (cmd *Command) AtGate() *Command { return cmd }

// ID identifies a command but for [Command.Nth]. It includes the key, since a client may send one command for two keys
// at once.
func (cmd *Command) ID() string { return cmd.Server.Name + " " + cmd.Name + " " + cmd.Key() }

// Key returns the first key, "" if there is none.
func (cmd *Command) Key() string {
	if len(cmd.Keys) == 0 {
		return ""
	}
	return cmd.Keys[0]
}

// Text names a command and its server.
func (cmd *Command) Text() string {
	if cmd.Message {
		return Message
	}
	return CommandText(cmd.Name, cmd.Server.Name)
}

// compare orders the waiting commands of one client: by server, then name, key and number. The digit of a step counts
// in this order, which is independent of how the client's goroutines are scheduled.
func (cmd *Command) compare(other *Command) int {
	return cmp.Or(cmd.Server.Index-other.Server.Index, strings.Compare(cmd.Name, other.Name),
		strings.Compare(cmd.Key(), other.Key()), cmd.Nth-other.Nth)
}

// Wait returns the scheduler's decision about a command, or TooLate if ended is closed first: then the command is never
// carried out.
func (g *Gate[C]) Wait(cmd C, ended <-chan struct{}) Decision {
	g.Enter(cmd)
	return g.Await(cmd, ended)
}

// Await is the second half of Wait, for a command that has entered the gate.
func (g *Gate[C]) Await(cmd C, ended <-chan struct{}) Decision {
	at := cmd.AtGate()
	select {
	case <-at.decided:
	case <-ended:
		if g.remove(cmd) {
			return TooLate
		}
		<-at.decided
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if at.decision != Fail && at.Server.Down && !at.Message {
		return Refuse
	}
	return at.decision
}

// Decided is closed when a decision is made about a command that has entered a gate.
func (cmd *Command) Decided() <-chan struct{} { return cmd.decided }

// decide is called once, by the code that removed the command from the waiting ones.
func (cmd *Command) decide(d Decision) {
	cmd.decision = d
	close(cmd.decided)
	if cmd.Notify != nil {
		cmd.Notify()
		cmd.Notify = nil // so that a kept record of the command keeps nothing else alive
	}
}

// Enter puts a command at the gate.
func (g *Gate[C]) Enter(cmd C) {
	g.mu.Lock()
	defer g.mu.Unlock()
	at := cmd.AtGate()
	c := at.Client
	if c.sent == nil {
		c.sent = map[string]int{}
	}
	at.decided, at.Nth = make(chan struct{}), c.sent[at.ID()]
	c.sent[at.ID()]++
	g.moves++
	switch {
	case c.gone:
		at.decide(Fail)
	case g.open && !c.Dead:
		at.decide(Pass)
	default:
		g.waiting = append(g.waiting, cmd)
		if !c.Dead && !c.Held {
			g.notice()
		}
	}
}

// remove removes a command, and reports whether it still waited.
func (g *Gate[C]) remove(cmd C) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.moves++
	i := slices.Index(g.waiting, cmd)
	if i >= 0 {
		g.waiting = slices.Delete(g.waiting, i, i+1)
	}
	return i >= 0
}

// Of returns the waiting commands of a client, in the order in which a trace counts them.
func (g *Gate[C]) Of(c *Client) []C {
	g.mu.Lock()
	defer g.mu.Unlock()
	var own []C
	for _, cmd := range g.waiting {
		if cmd.AtGate().Client == c {
			own = append(own, cmd)
		}
	}
	slices.SortStableFunc(own, func(a, b C) int { return a.AtGate().compare(b.AtGate()) })
	return own
}

// Decide decides about a command. It reports whether the command still waited.
func (g *Gate[C]) Decide(cmd C, d Decision) bool {
	if !g.remove(cmd) {
		return false
	}
	g.Change(func() {
		cmd.AtGate().Client.Held = false
		cmd.AtGate().decide(d)
	})
	return true
}

// Close makes commands wait from now on.
func (g *Gate[C]) Close() { g.Change(func() { g.open = false }) }

// OpenAll passes the waiting commands of live clients, and all their later ones.
func (g *Gate[C]) OpenAll() {
	g.Change(func() {
		g.open = true
		g.decideAll(Pass, func(c *Client) bool { return !c.Dead })
	})
}

// Retire fails the waiting commands of a client, and all its later ones.
func (g *Gate[C]) Retire(c *Client) {
	g.Change(func() {
		c.gone = true
		g.decideAll(Fail, func(other *Client) bool { return other == c })
	})
}

// decideAll decides about the waiting commands of some clients. Each command that is removed must get a decision, or
// its client would wait for ever.
func (g *Gate[C]) decideAll(d Decision, of func(*Client) bool) {
	g.waiting = slices.DeleteFunc(g.waiting, func(cmd C) bool {
		decides := of(cmd.AtGate().Client)
		if decides {
			g.moves++
			cmd.AtGate().decide(d)
		}
		return decides
	})
}

// Change runs do under the gate's lock.
func (g *Gate[C]) Change(do func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	do()
}

// Happened returns the number of events so far.
func (g *Gate[C]) Happened() (n int) {
	g.Change(func() { n = g.moves })
	return n
}

// Notice reports an event to a scheduler that is letting time pass.
func (g *Gate[C]) Notice() {
	g.Change(func() {
		g.moves++
		g.notice()
	})
}

func (g *Gate[C]) notice() {
	select {
	case g.Arrived <- struct{}{}:
	default:
	}
}

// Forget discards a pending notice.
func (g *Gate[C]) Forget() {
	select {
	case <-g.Arrived:
	default:
	}
}
