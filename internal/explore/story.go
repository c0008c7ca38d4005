package explore

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"stockapi/internal/sale"
	"stockapi/internal/stock"
	"stockapi/internal/trace"
	"stockapi/loadtest/history"
	"stockapi/loadtest/schedule"
)

// A Story is a schedule as it happened.
type Story struct {
	Trace  schedule.Trace
	Lines  []Line
	Orders []Outcome // those of the clients, and of a further one that was sent at the end, if there was one
	Leases []Lease
	Broken []Violation
	err    error
}

// A Line is one step: what was done, by whom, and what the servers held afterwards.
type Line struct {
	Step     schedule.Step
	ByClient bool // whether a client takes the step; time and servers have no column of their own
	Fault    bool
	What     string
	Server   string        // the lock server, if the step is one of it: "the lock server", or "node 2"
	After    time.Duration // since the beginning
	Holds    string
	Left     int64 // in stock
	Call     *Call // that the step concerns, or nil
	Ended    []int // clients whose leases this step has ended, although they had not given them back

	cmd     *command
	holding []bool // which clients had the lock before
}

// A Call is a command, or a message of a subscription.
type Call struct {
	Server  string // stock, lock, or of a Redlock node 1, 2, 3 …
	Name    string // in lower case; a script by its name: "eval:release"
	Key     string // the first one
	Message bool
	Reply   string // of the server, whether or not it has reached the client
	Err     string // why there is none
}

// An Outcome is the answer to one order, as its client was told.
type Outcome struct {
	Client string
	End    string  // what it was told, in words
	Units  []int64 // that it was told it had bought
	Err    error   // that it was told, or nil
	Later  bool    // whether it was sent when all others had ended
	Done   int     // the number of steps until its answer; -1 if it has none
}

// A Lease is a lock as one client had it, by the servers' data: from the step that gave it the lock to its last step in
// the stock. Steps count from 1.
type Lease struct{ Client, From, Last int }

// LeaseTTL is the TTL of each lease, in every schedule.
const LeaseTTL = leaseTTL

// LongestRecovery limits the time from the end of all orders until a new one gets the lock.
const LongestRecovery = leaseTTL + liveMargin

func (s *Story) begin(w *world) {
	s.Trace.Rung, s.Trace.Situation = w.rung.Number, w.bounds.Situation
	for _, c := range w.clients {
		s.Orders = append(s.Orders, Outcome{Client: c.Name, Done: -1})
	}
}

// add notes a step that is about to be taken.
func (s *Story) add(w *world, c choice) {
	s.Trace.Steps = append(s.Trace.Steps, c.Step)
	line := Line{Step: c.Step, ByClient: c.NamesClient(), Fault: c.IsFault(), cmd: c.cmd}
	command := ""
	if c.cmd != nil {
		command = c.cmd.Text()
	}
	if c.OfServer() {
		line.Server = schedule.ServerName(c.Who, len(w.nodes))
	}
	line.What = c.Text(command, line.Server)
	for _, client := range w.clients {
		line.holding = append(line.holding, client.lease != nil && client.lease.holding)
	}
	s.Lines = append(s.Lines, line)
}

// look notes what the last step has come to.
func (s *Story) look(w *world) {
	if len(s.Lines) == 0 {
		return
	}
	last := &s.Lines[len(s.Lines)-1]
	last.After, last.Holds = time.Since(w.began), w.holds()
	text, _ := w.stock.redis.Get(stock.Key(product))
	last.Left, _ = strconv.ParseInt(text, 10, 64)
	if last.cmd != nil {
		last.Call = last.cmd.call()
	}
	for i, held := range last.holding {
		c := w.clients[i]
		itself := last.Step.ByClient() && last.Step.Who == i
		if held && !c.lease.holding && !itself {
			last.Ended = append(last.Ended, i)
		}
	}
	last.holding = nil
	for i, c := range w.clients[:w.bounds.Clients] {
		if one := &s.Orders[i]; one.Done < 0 && !c.Dead && c.isDone() {
			one.Done = len(s.Lines)
		}
	}
}

// call tells of a command whose step is over.
func (cmd *command) call() *Call {
	c := &Call{Server: cmd.server.Name, Name: cmd.Name, Key: cmd.Key(), Message: cmd.Message}
	switch {
	case cmd.decision == schedule.Refuse:
		c.Err = "the server cannot be reached"
	case cmd.decision == schedule.LostRequest:
		c.Err = "lost on its way"
	case errors.Is(cmd.err, redis.Nil):
		c.Reply = "nil"
	case cmd.err != nil:
		c.Err = cmd.err.Error()
	default:
		at := slices.IndexFunc(cmd.replies, func(one redis.Cmder) bool { return one.Name() != "multi" })
		if at >= 0 {
			c.Reply = trace.Reply(cmd.replies[at])
		}
	}
	return c
}

func (s *Story) missing(one *run, w *world) {
	at := len(one.steps)
	s.err = fmt.Errorf("step %d of the trace, %s, cannot be taken; possible are: %s", at+1, one.path.steps[at],
		stepNames(w.choices()))
}

// end notes what came of the orders.
func (s *Story) end(w *world) {
	for i, c := range w.clients {
		if i >= w.bounds.Clients {
			s.Orders = append(s.Orders, Outcome{Client: c.Name, Later: true, Done: len(s.Lines)})
		}
		one := &s.Orders[i]
		one.End = c.outcome()
		if !c.Dead && c.isDone() {
			one.Units, one.Err = c.receipt.Units, c.err
		}
	}
	for _, one := range w.judge.leases {
		if one.client.Index < w.bounds.Clients {
			s.Leases = append(s.Leases, Lease{one.client.Index, one.from, one.last})
		}
	}
	for _, v := range Verdicts {
		if violation, ok := w.judge.violated[v]; ok {
			s.Broken = append(s.Broken, violation)
		}
	}
}

// Until returns the story of the first steps. What came of the orders stays.
func (s Story) Until(steps int) Story {
	s.Trace.Steps, s.Lines = s.Trace.Steps[:steps], s.Lines[:steps]
	for i := range s.Orders {
		if one := &s.Orders[i]; one.Done > steps && !one.Later {
			s.Orders = slices.Clone(s.Orders)
			s.Orders[i].Done = -1
		}
	}
	return s
}

// Breaks reports whether the schedule breaks a verdict.
func (s Story) Breaks(v history.Verdict) bool {
	return slices.ContainsFunc(s.Broken, func(one Violation) bool { return one.Verdict == v })
}

func stepNames(choices []choice) string {
	names := make([]string, len(choices))
	for i, c := range choices {
		names[i] = c.String()
	}
	return strings.Join(names, " ")
}

// outcome returns the answers to the client's orders.
func (c *client) outcome() string {
	switch {
	case c.Dead:
		return "died"
	case !c.isDone():
		return "still waits"
	}
	return strings.Join(c.told, "; ")
}

// outcome returns the answer to one order, in words.
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

// holds lists the holders of the locks on each server, and the stock.
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
		return node.Name
	}
	return node.Name + " " + itoa(int64(product+1))
}

// holder names the clients that have the lock with that key on a server, each with the rest of its TTL.
func (w *world) holder(node *store, key string) string {
	if node.Down {
		return "down"
	}
	held := "free"
	for _, e := range node.entries(key) {
		held = "?"
		if o := w.judge.owned[entryID(node, key, e)]; o != nil {
			held = o.client.Name
		}
		if !e.until.IsZero() {
			held += " " + time.Until(e.until).Round(time.Millisecond).String()
		}
	}
	return held
}
