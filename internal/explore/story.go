package explore

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"stockapi/internal/sale"
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

func (s *Story) begin(w *world) { s.Trace.Rung, s.Trace.Situation = w.rung.Number, w.bounds.Situation }

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
	}
	return strings.Join(c.told, "; ")
}

// outcome says what came of one order.
func outcome(receipt sale.Receipt, err error) string {
	switch {
	case errors.Is(err, stock.ErrSoldOut):
		return "sold out"
	case err != nil:
		return err.Error()
	case len(receipt.Units) == 0:
		return fmt.Sprintf("read that %d are left", receipt.Left)
	}
	return fmt.Sprintf("sold unit %d", receipt.Units[0])
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
	case Late:
		return command + ": still on its way when its client gives it up"
	case Arrive:
		return command + " arrives late"
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
		for i, key := range w.keys {
			parts = append(parts, w.label(node, i)+": "+w.holder(node, key))
		}
	}
	return strings.Join(append(parts, "stock: "+left), "  ")
}

// label names a lock server in the column that says what it holds: with the product, if there are several.
func (w *world) label(node *store, product int) string {
	if len(w.keys) == 1 {
		return node.name
	}
	return node.name + " " + itoa(int64(product+1))
}

// holder says who has the lock with that key on a server, and for how long.
func (w *world) holder(node *store, key string) string {
	if node.down {
		return "down"
	}
	held := "free"
	for _, e := range node.entries(key) {
		held = "?"
		if o := w.judge.owned[entryID(node, key, e)]; o != nil {
			held = o.client.name
		}
		if !e.until.IsZero() {
			held += " " + time.Until(e.until).Round(time.Millisecond).String()
		}
	}
	return held
}
