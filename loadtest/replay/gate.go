package replay

import (
	"fmt"
	"strings"

	"stockapi/loadtest/schedule"
	"stockapi/loadtest/wire"
)

// A gate holds the commands at the wires until the trace lets them pass.
type gate struct {
	*wire.Gate

	// The gate's lock guards these.
	stepping *schedule.Client          // the client whose step is being taken
	early    map[*schedule.Client]bool // those that have sent a command outside their own step since time last passed
	still    bool                      // no time is to pass, so no client may give up a command
	given    string                    // the first command that a client gave up meanwhile
}

func newGate(scripts map[string]string) *gate {
	g := &gate{Gate: wire.NewGate(scripts), early: map[*schedule.Client]bool{}}
	g.Watch = g.watch
	return g
}

// watch records commands that clients send or give up out of turn.
func (g *gate) watch(cmd wire.Seen) {
	c := cmd.Client
	g.Change(func() {
		switch {
		case cmd.State == wire.Waiting && !c.Dead && !c.Held && g.stepping != c && !cmd.Message:
			g.early[c] = true
		case cmd.Decision == schedule.TooLate && g.still && !c.Dead && g.given == "":
			g.given = fmt.Sprintf("%s gave up %s", c.Name, cmd.Text())
		}
	})
}

// begin closes the gate from now on, and forgets the commands of startup.
func (g *gate) begin() {
	g.Begin()
	g.takeEarly()
}

// takeEarly reports whether a client that is not held has sent a command outside its own step since time last passed,
// and resets that. In real time a timer may fire while commands are carried out; then no more time has to pass for it.
func (g *gate) takeEarly() (early bool) {
	g.Change(func() {
		for c := range g.early {
			early = early || !c.Held && !c.Dead
		}
		clear(g.early)
	})
	return early
}

// text names the waiting commands, for an error.
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
