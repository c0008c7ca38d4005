package replay

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"stockapi/loadtest/schedule"
)

// A gate holds the commands that have come to the wires until the trace lets them through.
type gate struct {
	scripts map[string]string // the names of scripts, by digest

	mu       sync.Mutex
	open     bool // commands of live clients pass at once
	waiting  []*command
	seq      int           // counts the commands
	moves    int           // counts what happened at all
	stepping *sender       // the one whose step is being taken
	still    bool          // no time is to pass, so no client has a reason to give a command up
	given    string        // the first command that a client gave up while no time was to pass
	arrived  chan struct{} // holds one notice that a command has come, or that an order has ended
}

func newGate(scripts map[string]string) *gate {
	return &gate{scripts: scripts, open: true, arrived: make(chan struct{}, 1)}
}

// A sender is an instance, as the gate sees it.
type sender struct {
	index int
	name  string

	// The gate's lock guards these.
	held  bool // its commands wait while time passes
	dead  bool
	early bool       // it has sent something by itself since time last passed
	wrote bool       // a write of the stock has been sent to the server
	log   []*command // what servers have answered
}

// A server is one Redis server, as the gate sees it.
type server struct {
	index int // 0: that of the stock
	name  string
	host  string // host:port
	down  bool   // the gate's lock guards it
}

// A command waits at a wire. So does a message of a subscription, before its receiver gets it.
type command struct {
	sender     *sender
	server     *server
	name       string // in lower case; a script by its name: "eval:release"
	message    bool
	subscribes bool
	writes     bool // the stock
	seq        int

	sent, answered time.Time // when it was sent on, and when its reply had come

	decided   chan decision
	delivered chan struct{} // closed when its reply may be passed on
	done      chan struct{} // closed when the server has answered, or never will
	ended     sync.Once
	decision  decision
}

// A decision of the trace about one command.
type decision uint8

const (
	pass        decision = iota
	refuse               // the server cannot be reached; a message is dropped
	loseRequest          // it is never sent on
	loseReply            // it is sent on, and its reply is not
	tooLate              // no decision: its connection is closed
)

// newCommand describes a request for the gate.
func (g *gate) newCommand(c *sender, s *server, r request) *command {
	name := r.describe(g.scripts)
	writes := s.index == 0 && slices.Contains([]string{"set", "exec", "eval:write", "eval:take"}, name)
	return &command{sender: c, server: s, name: name, subscribes: r.subscribes(), writes: writes}
}

// finish says that the server has answered, or never will.
func (cmd *command) finish() { cmd.ended.Do(func() { close(cmd.done) }) }

// wait returns what the trace decides about a command. It returns tooLate if gone is closed first: a request whose
// client has closed the connection is never sent on.
func (g *gate) wait(cmd *command, gone <-chan struct{}) decision {
	if g.add(cmd) {
		return g.sending(cmd, pass)
	}
	select {
	case d := <-cmd.decided:
		return g.sending(cmd, d)
	case <-gone:
		if g.giveUp(cmd) {
			return g.sending(cmd, tooLate)
		}
		return g.sending(cmd, <-cmd.decided)
	}
}

// sending notes what is done with a command.
func (g *gate) sending(cmd *command, d decision) decision {
	g.mu.Lock()
	defer g.mu.Unlock()
	if d != tooLate && cmd.server.down && !cmd.message {
		d = refuse
	}
	cmd.decision = d
	cmd.sender.wrote = cmd.sender.wrote || cmd.writes && (d == pass || d == loseReply)
	return d
}

// add notes a command that has come. It returns true if nothing is to be decided about it.
func (g *gate) add(cmd *command) (passes bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.seq++
	g.moves++
	cmd.seq, cmd.decided, cmd.done = g.seq, make(chan decision, 1), make(chan struct{})
	if g.open && !cmd.sender.dead {
		return true
	}
	g.waiting = append(g.waiting, cmd)
	if cmd.sender.dead || cmd.sender.held {
		return false
	}
	g.notice()
	if g.stepping != cmd.sender && !cmd.message {
		cmd.sender.early = true
	}
	return false
}

// record notes that a server has answered a command.
func (g *gate) record(cmd *command) {
	g.mu.Lock()
	defer g.mu.Unlock()
	cmd.answered = time.Now()
	cmd.sender.log = append(cmd.sender.log, cmd)
}

// remove forgets a command, and reports whether it still waited.
func (g *gate) remove(cmd *command) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.moves++
	i := slices.Index(g.waiting, cmd)
	if i >= 0 {
		g.waiting = slices.Delete(g.waiting, i, i+1)
	}
	return i >= 0
}

// giveUp forgets a command whose client has closed the connection, and reports whether it still waited.
func (g *gate) giveUp(cmd *command) bool {
	waited := g.remove(cmd)
	g.mu.Lock()
	defer g.mu.Unlock()
	if waited && g.still && !cmd.sender.dead && g.given == "" {
		g.given = fmt.Sprintf("%s gave up %s", cmd.sender.name, cmd.text())
	}
	return waited
}

// notice says that something has happened, to the clock that lets time pass.
func (g *gate) notice() {
	select {
	case g.arrived <- struct{}{}:
	default:
	}
}

// of returns the waiting commands of a client, in the order in which a trace counts them. A key is not looked at: a
// replay has one lock.
func (g *gate) of(c *sender) []*command {
	g.mu.Lock()
	defer g.mu.Unlock()
	var own []*command
	for _, cmd := range g.waiting {
		if cmd.sender == c {
			own = append(own, cmd)
		}
	}
	slices.SortFunc(own, func(a, b *command) int { return a.place().Compare(b.place()) })
	return own
}

func (cmd *command) place() schedule.Place {
	return schedule.Place{Server: cmd.server.index, Name: cmd.name, Nth: cmd.seq}
}

// decide lets a command go, in the way of the decision. It reports whether the command still waited.
func (g *gate) decide(cmd *command, d decision) bool {
	if !g.remove(cmd) {
		return false
	}
	g.change(func() { cmd.sender.held = false })
	cmd.decided <- d
	return true
}

// close makes the commands wait from now on. What the clients have sent before, as they started, does not count.
func (g *gate) close(clients ...*sender) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open = false
	for _, c := range clients {
		c.wrote, c.log = false, nil
	}
}

// openAll lets the waiting commands of live clients through, and all that come from now on.
func (g *gate) openAll() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open = true
	g.decideAll(func(cmd *command) (decision, bool) {
		if cmd.sender.dead {
			return tooLate, true
		}
		return pass, true
	})
}

// bury closes the connections on which commands of a dead client wait: they are never carried out.
func (g *gate) bury(c *sender) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.decideAll(func(cmd *command) (decision, bool) { return tooLate, cmd.sender == c })
}

// decideAll decides about those waiting commands of which decides is true. Each command that is taken out of the
// waiting ones gets a decision, or its connection would wait for ever.
func (g *gate) decideAll(of func(*command) (d decision, decides bool)) {
	g.waiting = slices.DeleteFunc(g.waiting, func(cmd *command) bool {
		d, decides := of(cmd)
		if decides {
			g.moves++
			cmd.decided <- d
		}
		return decides
	})
}

// change changes what the gate's lock guards.
func (g *gate) change(do func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	do()
}

// happened counts all that has happened.
func (g *gate) happened() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.moves
}

// takeEarly reports whether a client that is not held has sent something by itself since time last passed, and forgets
// that. In real time a timer may end while commands are carried out, and then no more time has to pass for it.
func (g *gate) takeEarly(clients []*sender) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	early := false
	for _, c := range clients {
		early = early || c.early && !c.held && !c.dead
		c.early = false
	}
	return early
}

// forget forgets the notice of what has happened.
func (g *gate) forget() {
	select {
	case <-g.arrived:
	default:
	}
}

// text names what waits, for an error.
func (g *gate) text(clients []*sender) string {
	var parts []string
	for _, c := range clients {
		for i, cmd := range g.of(c) {
			parts = append(parts, fmt.Sprintf("%s (%s)", schedule.Step{Who: c.index, Nth: i}, cmd.text()))
		}
	}
	if len(parts) == 0 {
		return "nothing"
	}
	return strings.Join(parts, ", ")
}

// text names a command and its server.
func (cmd *command) text() string {
	if cmd.message {
		return schedule.Message
	}
	return schedule.CommandText(cmd.name, cmd.server.name)
}
