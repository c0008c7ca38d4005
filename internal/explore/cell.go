package explore

import (
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"stockapi/internal/lock"
	"stockapi/internal/stock"
	"stockapi/internal/trace"
	"stockapi/loadtest/history"
	"stockapi/loadtest/schedule"
)

// Cell returns the story as a cell in which the orders break one verdict, and its steps.
func (s Story) Cell(v Violation) (*history.Cell, []history.Step) {
	c := &history.Cell{Scenario: "schedule", Rung: s.Trace.Rung, Product: product, Repetition: 1,
		Initial: Bounds{Situation: s.Trace.Situation}.Units(), TTL: LeaseTTL, Limit: LongestRecovery}
	steps := s.steps()
	for who, op := range s.Orders {
		if op.Phase == history.Probe {
			op.Sent, op.Done = at(steps, len(steps)-2), at(steps, len(steps)-1)
		} else {
			op.Lease = s.lease(who, op.Trace)
		}
		op.Trace = slices.Clip(op.Trace) // the story's own has no notes
		c.Instances = append(c.Instances, history.Instance{Name: op.Instance, Clock: "virtual"})
		c.Ops = append(c.Ops, op)
	}
	for i, line := range s.Lines {
		if line.Step.IsFault() {
			c.Faults = append(c.Faults, s.faultAt(i, steps))
		}
	}
	s.noteEnds(c, steps)
	c.Left = &s.left
	c.Findings = []history.Finding{s.finding(v)}
	return c, steps
}

// noteEnds notes, in the traces of orders, that the server had ended their lock. On several nodes that is not known.
func (s Story) noteEnds(c *history.Cell, steps []history.Step) {
	locks := history.TimelineOf(c).Locks
	if len(locks) != 1 {
		return
	}
	for i, line := range s.Lines {
		note := history.Command{Cmd: history.EndedLock, Node: locks[0].Node, Key: locks[0].Key,
			At: at(steps, i), End: at(steps, i)}
		for _, who := range line.Ended {
			c.Ops[who].Trace = append(c.Ops[who].Trace, note)
		}
	}
}

// steps returns the steps, and a last one for an order that was sent when all others had ended.
func (s Story) steps() (steps []history.Step) {
	for _, line := range s.Lines {
		steps = append(steps, history.Step{Passed: line.After})
	}
	if len(steps) == 0 || slices.ContainsFunc(s.Orders, isLater) {
		later := history.Step{Passed: LongestRecovery, Label: "later"}
		if n := len(steps); n > 0 {
			later.Passed += steps[n-1].Passed
		}
		steps = append(steps, later)
	}
	return steps
}

// isLater reports whether an order was sent when all others had ended.
func isLater(op history.Op) bool { return op.Phase == history.Probe }

// at returns the instant of a step, counted from 0. Before the first one it is the beginning.
func at(steps []history.Step, i int) history.Instant {
	if i < 0 {
		return 0
	}
	return history.StepAt(i, steps[i].Passed)
}

// answer notes what an order has come to, as its client knows it.
func (c *client) answer(op *history.Op) {
	op.Outcome = history.Unknown
	if c.Dead || !c.isDone() {
		return
	}
	op.Units = c.receipt.Units
	switch {
	case len(op.Units) > 0:
		op.Outcome = history.Sold
	case errors.Is(c.err, stock.ErrSoldOut):
		op.Outcome = history.Refused
	case errors.Is(c.err, lock.ErrBusy):
		op.Outcome = history.Busy
	case c.err != nil && !errors.Is(c.err, stock.ErrUnknown):
		op.Outcome = history.NotSold
	}
}

// plainReply matches replies that are the same in each run. Others have an owner token in them.
var plainReply = regexp.MustCompile(`^(OK|true|false|nil|[-\d \[\]]*)$`)

// recorded returns a command whose step is over, as a trace has it. A reply that was lost is there all the same if the
// command was of a lock: what the lock server holds is drawn, and not what the client knows.
func (cmd *command) recorded(kind schedule.Kind, at history.Instant) history.Command {
	c := history.Command{Node: cmd.server.Name, Cmd: cmd.Name, Key: cmd.Key(), At: at, End: at}
	if cmd.server.Index > 0 && c.Node != "lock" {
		c.Node = "node " + c.Node
	}
	if c.Cmd == "exec" { // a transaction writes the stock
		c.Cmd = "set"
	}
	reply := slices.IndexFunc(cmd.replies, func(one redis.Cmder) bool { return one.Name() != "multi" })
	switch {
	case kind == schedule.Drop:
		c.Err = "the message is lost"
	case cmd.decision == schedule.Refuse:
		c.Err = "the server cannot be reached"
	case cmd.decision == schedule.LostRequest:
		c.Err = "lost on its way"
	case errors.Is(cmd.err, redis.Nil):
		c.Reply = "nil"
	case errors.Is(cmd.err, redis.TxFailedErr):
		c.Err = history.StockChanged
	case cmd.err != nil:
		c.Err = cmd.err.Error()
	case reply >= 0:
		c.Reply = trace.Reply(cmd.replies[reply])
	}
	if !plainReply.MatchString(c.Reply) {
		c.Reply = "a token"
	}
	if cmd.server.Index == 0 && kind == schedule.LoseReply {
		c.Err = "the reply is lost"
	}
	return c
}

// lease returns the first lease of a client as it knew it: from the reply that gave it the lock until it gave the lock
// back. It returns nil if no reply said so.
func (s Story) lease(who int, trace []history.Command) *history.Lease {
	first := slices.IndexFunc(s.leases, func(l lease) bool { return l.client.Index == who })
	if first < 0 {
		return nil
	}
	from := s.leases[first].from - 1
	for i := from; i < len(s.Lines); i++ {
		line := s.Lines[i]
		if line.Step.Kind != schedule.Grant || line.Step.Who != who {
			continue
		}
		cmd := line.Command
		if i > from && !cmd.ReadsStock() && !cmd.WritesStock() && (!cmd.Acquires() || !cmd.Succeeded()) {
			return nil // no reply told it
		}
		lease := &history.Lease{AcquiredAt: cmd.At, ReleasedAt: history.Never}
		for _, later := range trace {
			if later.At > lease.AcquiredAt && later.OnLock() && later.Releases() {
				lease.ReleasedAt = min(lease.ReleasedAt, later.At)
			}
		}
		return lease
	}
	return nil
}

// faultAt tells of the fault that a step is.
func (s Story) faultAt(i int, steps []history.Step) history.Fault {
	line := s.Lines[i]
	f := history.Fault{At: at(steps, i), End: at(steps, i), Text: line.What}
	switch kind := line.Step.Kind; {
	case kind == schedule.Expiry:
		f.On, f.At = "time", at(steps, i-1)
		return f
	case line.Step.OfServer():
		f.On, f.Instance = "locks", strings.TrimPrefix(line.Server, "the ")
		f.Text = map[schedule.Kind]string{schedule.NodeDown: "cannot be reached", schedule.NodeEmpty: "restarts empty",
			schedule.ClockJump: "its clock jumps"}[kind]
	default:
		f.Instance, f.Order = s.Orders[line.Step.Who].Instance, s.Orders[line.Step.Who].Order
	}
	switch line.Step.Kind {
	case schedule.Hold:
		f.At, f.Text = at(steps, i-1), "held while time passes"
		f.End = at(steps, s.next(i, len(steps)-1, schedule.Step.NamesClient))
	case schedule.NodeDown:
		f.End = at(steps, s.next(i, len(steps)-1, func(s schedule.Step) bool { return s.Kind == schedule.NodeBack }))
	case schedule.CrashBefore, schedule.CrashAfter:
		f.Text, f.End = "killed", history.Never
	}
	return f
}

// next returns the first step of the same client or server after step i for which it is so, or else last.
func (s Story) next(i, last int, is func(schedule.Step) bool) int {
	for j := i + 1; j < len(s.Lines); j++ {
		if step := s.Lines[j].Step; is(step) && step.Who == s.Lines[i].Step.Who {
			return j
		}
	}
	return last
}

// finding says that the cell breaks a verdict, with the orders and the times that show it.
func (s Story) finding(v Violation) history.Finding {
	e := history.Evidence{Text: s.Sentence(v)}
	seen := map[int64]bool{}
	for _, op := range s.Orders {
		if !isLater(op) {
			e.Orders = append(e.Orders, op.Order)
		}
		for _, unit := range op.Units {
			if seen[unit] && v.Verdict == history.Stock && e.Unit == 0 {
				e.Unit = unit
			}
			seen[unit] = true
		}
	}
	switch {
	case v.Verdict == history.Stock && e.Unit == 0: // the books do not balance
		e.Orders = nil
	case v.Verdict == history.Exclusion:
		for _, step := range []int{v.From, v.Last} {
			e.At = append(e.At, history.StepAt(step-1, s.Lines[step-1].After))
		}
	}
	return history.Finding{Verdict: v.Verdict, Result: history.Broken, Because: e.Text, Evidence: []history.Evidence{e}}
}
