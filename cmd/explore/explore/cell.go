package explore

import (
	"errors"
	"regexp"
	"slices"

	"github.com/redis/go-redis/v9"

	"stockapi/internal/lock"
	"stockapi/internal/stock"
	"stockapi/internal/trace"
	"stockapi/loadtest/history"
	"stockapi/loadtest/schedule"
)

// Cell returns the story as a recorded cell for the audit.
func (s Story) Cell() *history.Cell {
	c := &history.Cell{Scenario: "schedule", Rung: s.Trace.Rung, Product: product, Repetition: 1,
		Initial: Bounds{Situation: s.Trace.Situation}.Units(), Left: &s.left, TTL: LeaseTTL, Limit: LongestRecovery}
	for who, op := range s.Orders {
		if isLater(op) {
			op.Sent = s.at(len(s.Lines) - 1)
			op.Done = op.Sent + history.Instant(LongestRecovery) + stepApart
		} else {
			op.Lease = s.lease(who, op.Trace)
		}
		op.Trace = slices.Clip(op.Trace) // the story's own has no notes
		c.Instances = append(c.Instances, history.Instance{Name: op.Instance, Clock: "virtual"})
		c.Ops = append(c.Ops, op)
	}
	s.noteEnds(c)
	return c
}

// noteEnds notes expiries and removals by the server in the traces of orders. With several nodes they are unknown.
func (s Story) noteEnds(c *history.Cell) {
	locks := history.TimelineOf(c, history.Terms{}).Locks
	if len(locks) != 1 {
		return
	}
	for i, line := range s.Lines {
		note := history.Command{Cmd: history.EndedLock, Node: locks[0].Node, Key: locks[0].Key, At: s.at(i), End: s.at(i)}
		for _, who := range line.Ended {
			c.Ops[who].Trace = append(c.Ops[who].Trace, note)
		}
	}
}

// isLater reports whether an order was sent after all others had ended.
func isLater(op history.Op) bool { return op.Phase == history.Probe }

// answer records an order's outcome as its client knows it.
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

// plainReply matches replies that are the same in each run. Others contain an owner token.
var plainReply = regexp.MustCompile(`^(OK|true|false|nil|[-\d \[\]]*)$`)

// record returns a completed command in the form of a trace. Even a lost reply is included if the command was for a
// lock: the lock server's data count, not what the client knows.
func (cmd *command) record(kind schedule.Kind, at history.Instant) history.Command {
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
	c.Source = history.SourceOf(c.Cmd, c.Err)
	return c
}

// lease returns the first lease of a client as it knew it: from the reply that granted the lock until its release. It
// returns nil if no reply did.
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
			return nil // no reply reported it
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
