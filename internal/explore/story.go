package explore

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"stockapi/internal/stock"
)

// A Story is a schedule as it happened.
type Story struct {
	Trace  Trace
	Lines  []Line
	Ends   []string // what came of each order
	Broken []Violation
	err    error
}

// A Line is one step: what was done, by whom, and what the servers held afterwards.
type Line struct {
	Step     Step
	ByClient bool // whether a client takes the step; time and servers have no column of their own
	What     string
	After    time.Duration // since the beginning
	Holds    string
}

func (s *Story) begin(w *world) { s.Trace.Rung = w.rung.Number }

// add notes a step that is about to be taken.
func (s *Story) add(c choice) {
	s.Trace.Steps = append(s.Trace.Steps, c.Step)
	s.Lines = append(s.Lines, Line{Step: c.Step, ByClient: c.byClient() || c.Kind == Hold, What: describe(c)})
}

// look notes what the last step has come to.
func (s *Story) look(w *world) {
	if len(s.Lines) == 0 {
		return
	}
	last := &s.Lines[len(s.Lines)-1]
	last.After, last.Holds = time.Since(w.began), w.holds()
}

func (s *Story) missing(one *schedule, w *world) {
	at := len(one.steps)
	s.err = fmt.Errorf("step %d of the trace, %s, cannot be taken; possible are: %s", at+1, one.path.steps[at],
		stepNames(w.choices()))
}

// end notes what came of the orders.
func (s *Story) end(w *world) {
	for _, c := range w.clients[:w.bounds.Clients] {
		s.Ends = append(s.Ends, c.name+": "+c.outcome())
	}
	for _, v := range Verdicts {
		if violation, ok := w.judge.violated[v]; ok {
			s.Broken = append(s.Broken, violation)
		}
	}
}

func stepNames(choices []choice) string {
	names := make([]string, len(choices))
	for i, c := range choices {
		names[i] = c.String()
	}
	return strings.Join(names, " ")
}

// outcome says what the client was told.
func (c *client) outcome() string {
	switch {
	case c.dead:
		return "died"
	case !c.isDone():
		return "still waits"
	case errors.Is(c.err, stock.ErrSoldOut):
		return "sold out"
	case c.err != nil:
		return c.err.Error()
	}
	return fmt.Sprintf("sold unit %d", c.receipt.Units[0])
}

// describe says what a step does.
func describe(c choice) string {
	command := ""
	if c.cmd != nil {
		command = c.cmd.text()
	}
	switch c.Kind {
	case Grant:
		return command
	case Time:
		return "time passes"
	case Expiry:
		return "time passes, commands wait"
	case Hold:
		return "is held, time passes"
	case CrashBefore:
		return "dies"
	case CrashAfter:
		return command + ", then dies"
	case LoseRequest:
		return command + ": lost on its way"
	case LoseReply:
		return command + ": the reply is lost"
	case Drop:
		return "the message is lost"
	case GiveUp:
		return "its caller has gone"
	}
	return verbs[c.Kind] + " " + c.subject()
}

// text names a command and its server.
func (cmd *command) text() string {
	if cmd.message {
		return "gets the message"
	}
	on := ""
	if cmd.server.name != "stock" && cmd.server.name != "lock" {
		on = " on node"
	}
	return cmd.name + on + " " + cmd.server.name
}

// holds says what the servers hold.
func (w *world) holds() string {
	var parts []string
	left, _ := w.stock.redis.Get(stock.Key(product))
	for _, node := range w.nodes {
		if !w.locks {
			break
		}
		held := "free"
		for _, e := range node.entries(w.key) {
			held = "?"
			if o := w.judge.owned[node.name+" "+e.id]; o != nil {
				held = o.client.name
			}
			if !e.until.IsZero() {
				held += " " + time.Until(e.until).Round(time.Millisecond).String()
			}
		}
		if node.down {
			held = "down"
		}
		parts = append(parts, node.name+": "+held)
	}
	return strings.Join(append(parts, "stock: "+left), "  ")
}
