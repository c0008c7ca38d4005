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
	*schedule.Gate[*command]
	scripts map[string]string // the names of scripts, by digest

	// The gate's lock guards these.
	log      []*command                // that a trace has decided about
	stepping *schedule.Client          // the one whose step is being taken
	early    map[*schedule.Client]bool // they have sent something by themselves since time last passed
	still    bool                      // no time is to pass, so no client has a reason to give a command up
	given    string                    // the first command that a client gave up while no time was to pass
}

func newGate(scripts map[string]string) *gate {
	g := &gate{Gate: schedule.NewGate[*command](), scripts: scripts, early: map[*schedule.Client]bool{}}
	g.OpenAll() // instances start first
	return g
}

// A command waits at a wire. So does a message of a subscription, before its receiver gets it.
type command struct {
	schedule.Command
	subscribes bool

	sent, answered time.Time // when it was sent on, and when its reply had come

	delivered chan struct{} // closed when its reply may be passed on
	done      chan struct{} // closed when the server has answered, or never will
	ended     sync.Once
	decision  schedule.Decision
}

// newCommand describes a request for the gate. A key is not looked at: a replay has one lock.
func (g *gate) newCommand(c *schedule.Client, s *schedule.Server, r request) *command {
	return &command{Command: schedule.Command{Client: c, Server: s, Name: r.describe(g.scripts)},
		subscribes: r.subscribes(), done: make(chan struct{})}
}

// finish says that the server has answered, or never will.
func (cmd *command) finish() { cmd.ended.Do(func() { close(cmd.done) }) }

// wait returns what the trace decides about a command. It returns TooLate if gone is closed first: a request whose
// client has closed the connection is never sent on.
func (g *gate) wait(cmd *command, gone <-chan struct{}) schedule.Decision {
	c := cmd.Client
	g.Change(func() {
		if !c.Dead && !c.Held && g.stepping != c && !cmd.Message {
			g.early[c] = true
		}
	})
	d := g.Wait(cmd, gone)
	g.Change(func() {
		cmd.decision = d
		g.log = append(g.log, cmd)
		if d == schedule.TooLate && g.still && !c.Dead && g.given == "" {
			g.given = fmt.Sprintf("%s gave up %s", c.Name, cmd.Text())
		}
	})
	return d
}

// record notes that a server has answered a command.
func (g *gate) record(cmd *command) { g.Change(func() { cmd.answered = time.Now() }) }

// begin makes the commands wait from now on. What the clients have sent before, as they started, does not count.
func (g *gate) begin() {
	g.Close()
	g.takeEarly()
	g.Change(func() { g.log = nil })
}

// logOf returns the commands of a client that servers have answered, and whether a write of the stock was sent on.
func (g *gate) logOf(c *schedule.Client) (answered []*command, wrote bool) {
	g.Change(func() {
		for _, cmd := range g.log {
			if cmd.Client != c {
				continue
			}
			wrote = wrote || cmd.writesStock() && (cmd.decision == schedule.Pass || cmd.decision == schedule.LostReply)
			if !cmd.answered.IsZero() {
				answered = append(answered, cmd)
			}
		}
	})
	return answered, wrote
}

// takeEarly reports whether a client that is not held has sent something by itself since time last passed, and forgets
// that. In real time a timer may end while commands are carried out, and then no more time has to pass for it.
func (g *gate) takeEarly() (early bool) {
	g.Change(func() {
		for c := range g.early {
			early = early || !c.Held && !c.Dead
		}
		clear(g.early)
	})
	return early
}

// text names what waits, for an error.
func (g *gate) text(clients []*participant) string {
	var parts []string
	for _, c := range clients {
		for i, cmd := range g.Of(&c.Client) {
			parts = append(parts, fmt.Sprintf("%s (%s)", schedule.Step{Who: c.Index, Nth: i}, cmd.Text()))
		}
	}
	if len(parts) == 0 {
		return "nothing"
	}
	return strings.Join(parts, ", ")
}

// writesStock reports whether a command writes the stock.
func (cmd *command) writesStock() bool {
	return cmd.Server.Index == 0 && slices.Contains([]string{"set", "exec", "eval:write", "eval:take"}, cmd.Name)
}
