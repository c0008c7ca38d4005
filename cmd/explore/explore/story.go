package explore

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"stockapi/internal/sale"
	"stockapi/internal/stock"
	"stockapi/loadtest/history"
	"stockapi/loadtest/schedule"
	"stockapi/loadtest/schedule/search"
)

// A Story is a schedule as it happened.
type Story struct {
	Trace  schedule.Trace
	Lines  []Line
	Orders []history.Op // those of the clients, and the probe at the end, if one was sent
	Told   []string     // the answers to the clients, in words
	Broken []Violation
	leases []lease // all
	left   int64   // in stock at the end
}

// A Line is one step: what was done, by which client, and the holders afterwards.
type Line struct {
	Step    schedule.Step
	What    string
	Server  string        // the lock server, for a step of one: "the lock server", or "node 2"
	After   time.Duration // since the beginning
	Holds   string
	Command *history.Command // of the step, or its message; or nil
	Ended   []int            // clients whose leases this step ended without a release of theirs

	cmd     *command
	holding []bool // which clients held the lock before
}

// LeaseTTL is the TTL of each lease, in every schedule.
const LeaseTTL = leaseTTL

// LongestRecovery limits the time from the end of all orders until a new one acquires the lock.
const LongestRecovery = leaseTTL + liveMargin

func (s *Story) begin(w *world) {
	s.Trace.Rung, s.Trace.Situation = w.rung.Number, w.bounds.Situation
	for _, c := range w.clients {
		id := product + "-" + strings.ToLower(schedule.Person(c.Index))
		s.Orders = append(s.Orders, history.Op{Order: id, Phase: history.Buy, Instance: c.Name, Quantity: 1,
			Done: history.Never})
	}
}

// stepApart is the time between two steps of one moment.
const stepApart = history.Instant(time.Microsecond)

// at returns the instant of step i, from 0. Before the first one it is the beginning.
func (s Story) at(i int) history.Instant {
	if i < 0 {
		return 0
	}
	return history.Instant(s.Lines[i].After) + history.Instant(i+1)*stepApart
}

// add notes a step that is about to be taken.
func (s *Story) add(w *world, c choice) {
	s.Trace.Steps = append(s.Trace.Steps, c.Step)
	line := Line{Step: c.Step, cmd: c.cmd}
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

// look notes the effect of the last step.
func (s *Story) look(w *world) {
	if len(s.Lines) == 0 {
		return
	}
	last := &s.Lines[len(s.Lines)-1]
	last.After, last.Holds = time.Since(w.began), w.holds()
	now := s.at(len(s.Lines) - 1)
	if last.cmd != nil {
		cmd, op := last.cmd.record(last.Step.Kind, now), &s.Orders[last.Step.Who]
		op.Trace = append(op.Trace, cmd)
		last.Command, op.Sent = &cmd, op.Trace[0].At
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
		if one := &s.Orders[i]; !one.Done.Known() && !c.Dead && c.isDone() {
			one.Done = now
		}
	}
}

// missing returns the error of a step of the trace that cannot be taken.
func (s *Story) missing(step schedule.Step, w *world) error {
	return fmt.Errorf("step %d of the trace, %s, cannot be taken; possible steps: %s", len(s.Trace.Steps)+1, step,
		stepNames(optionsOf(w.choices())))
}

// end notes the outcomes of the orders.
func (s *Story) end(w *world) {
	for i, c := range w.clients {
		if i >= w.bounds.Clients {
			s.Orders = append(s.Orders, history.Op{Order: product + "-fresh", Phase: history.Probe, Instance: c.Name,
				Quantity: 1})
		} else {
			s.Told = append(s.Told, c.outcome())
		}
		c.answer(&s.Orders[i])
	}
	s.left = w.judge.left
	for _, one := range w.judge.leases {
		s.leases = append(s.leases, *one)
	}
	for _, v := range Verdicts {
		if violation, ok := w.judge.violated[v]; ok {
			s.Broken = append(s.Broken, violation)
		}
	}
}

// Until returns the story of the first steps. The outcomes of the orders stay.
func (s Story) Until(steps int) Story {
	s.Trace.Steps, s.Lines, s.Orders = s.Trace.Steps[:steps], s.Lines[:steps], slices.Clone(s.Orders)
	end := s.at(steps - 1)
	for i := range s.Orders {
		op := &s.Orders[i]
		op.Trace = slices.DeleteFunc(slices.Clone(op.Trace), func(c history.Command) bool { return c.At > end })
		if op.Done > end {
			op.Done = history.Never
		}
		if len(op.Trace) == 0 {
			op.Sent = 0
		}
	}
	return s
}

// Breaks reports whether the schedule breaks a verdict.
func (s Story) Breaks(v history.Verdict) bool {
	return slices.ContainsFunc(s.Broken, func(one Violation) bool { return one.Verdict == v })
}

func stepNames(options []search.Option) string {
	names := make([]string, len(options))
	for i, o := range options {
		names[i] = o.String()
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

// label names a lock server in the column of holders: with the product, if there are several.
func (w *world) label(node *store, product int) string {
	if len(w.keys) == 1 {
		return node.Name
	}
	return node.Name + " " + itoa(int64(product+1))
}

// holder names the clients that hold the lock with that key on a server, each with its remaining TTL.
func (w *world) holder(node *store, key string) string {
	if node.Down {
		return "down"
	}
	var held []string
	for _, e := range node.entries(key) {
		name := "?"
		if o := w.judge.owned[entryID(node, key, e)]; o != nil {
			name = o.client.Name
		}
		if !e.until.IsZero() {
			name += " " + time.Until(e.until).Round(time.Millisecond).String()
		}
		held = append(held, name)
	}
	slices.Sort(held) // tokens are random, and so is their order
	return cmp.Or(strings.Join(held, ", "), "free")
}
