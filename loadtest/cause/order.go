package cause

import (
	"slices"

	"stockapi/loadtest/history"
)

// A course goes through the commands of one order, with the locks that it holds, until one is a defect.
type course struct {
	*record
	op    *history.Op
	index int

	has      map[string]history.Instant // the locks that it took, heard of, and did not release
	asked    bool                       // it took the lock, whether or not it heard so
	tried    history.Instant
	released *history.Command
}

// ownDefect returns a defect that an order's own commands show, whatever came of it.
func (r *record) ownDefect() *history.Defect {
	for i := range r.Ops {
		op := &r.Ops[i]
		c := &course{record: r, op: op, index: i, has: map[string]history.Instant{}, tried: history.Never}
		for j := range op.Trace {
			if d := c.next(&op.Trace[j]); d != nil {
				return d
			}
		}
		if d := r.ofAnswer(op); d != nil {
			return d
		}
		if d := r.unwoken(i); d != nil {
			return d
		}
	}
	return nil
}

// next goes on to the next command, and returns the defect that it is; nil if it is none.
func (c *course) next(cmd *history.Command) *history.Defect {
	name := c.name(c.op)
	switch {
	case took(cmd):
		return c.acquire(cmd, name)
	case cmd.Acquires() && cmd.Heard().Known():
		c.tried = cmd.At
	case cmd.Releases() && !c.asked && !c.facts.Name && !c.isCovered(cmd.At-1):
		return releasedUnheld.defect("%s's %s removed %s", name, cmd.Cmd, cmd.Key)
	case cmd.Releases():
		delete(c.has, cmd.Key)
		c.released = cmd
	case sold(cmd) && len(c.has) == 0:
		return c.sell(cmd, name)
	}
	return nil
}

// sell returns the defect of a write of the stock by an order that holds nothing, nil if it is none.
func (c *course) sell(cmd *history.Command, name string) *history.Defect {
	switch {
	case c.released != nil && before(cmd, c.released):
	case c.released != nil:
		return releasedEarly.defect("%s's %s of the stock came %s after it had released the lock", name, cmd.Cmd,
			since(c.released.At, cmd.At))
	case c.asked || len(c.facts.Locks) == 0 || c.isCovered(cmd.At):
	case c.tried.Known():
		return wentOn.defect("%s wrote the stock %s after it had found the lock taken", name, since(c.tried, cmd.At))
	default:
		return soldUnlocked.defect("%s's %s of the stock came without an acquire", name, cmd.Cmd)
	}
	return nil
}

// isCovered reports whether another order at the same instance may have held the lock for this one, at that moment.
func (c *course) isCovered(at history.Instant) bool {
	return slices.ContainsFunc(c.line.Locks, func(l *history.Lock) bool {
		h := l.HolderAt(at)
		return !h.Known || h.Tenure != nil && c.Ops[h.Tenure.Order].Instance == c.op.Instance
	})
}

// before reports whether an order sent a command before another on one connection: no Redis gets them in the other
// order, though a trial may hold the first.
func before(cmd, other *history.Command) bool {
	return cmd.Wire != nil && other.Wire != nil && cmd.Wire.Conn == other.Wire.Conn && cmd.Came() < other.Came()
}

// acquire notes that the order acquires a lock, and returns the defect that it is; nil if it is none. If it holds the
// lock already, it is a renewal.
func (c *course) acquire(cmd *history.Command, name string) *history.Defect {
	if had, has := c.has[cmd.Key]; has {
		if other := c.holderBefore(cmd); other != nil {
			return renewalTakes.defect("%s's %s, %s after its acquire, took %s from %s", name, cmd.Cmd, since(had, cmd.At),
				cmd.Key, c.name(other))
		}
		if cmd.Usually(history.EffectRenewed) {
			return renewalMakes.defect("%s's %s made %s, which had gone, %s after its acquire", name, cmd.Cmd, cmd.Key,
				since(had, cmd.At))
		}
	}
	if cmd.Heard().Known() {
		c.has[cmd.Key] = cmd.At
	}
	c.asked = true
	return nil
}

// holderBefore returns the order of another instance whose lock a command took, nil if it was free.
func (c *course) holderBefore(taken *history.Command) *history.Op {
	l := c.lock(taken)
	if l == nil || taken.Wire == nil || taken.Wire.Was == "" {
		return nil
	}
	h := l.HolderAt(taken.At - 1)
	if !h.Known || h.Tenure == nil || h.Tenure.Order == c.index {
		return nil
	}
	if other := &c.Ops[h.Tenure.Order]; other.Instance != c.op.Instance {
		return other
	}
	return nil
}

// lock returns the lock that a command is on, nil if there is none.
func (r *record) lock(cmd *history.Command) *history.Lock {
	for _, l := range r.line.Locks {
		if l.Key == cmd.Key && l.Node == cmd.Node {
			return l
		}
	}
	return nil
}

// ofAnswer returns the defect of an order that was answered before its unit was taken, nil if it was not. A 202 is no
// sale yet. Of several open orders of an instance it is not known whose a late write is.
func (r *record) ofAnswer(op *history.Op) *history.Defect {
	const accepted = 202
	i := slices.IndexFunc(op.Trace, func(cmd history.Command) bool { return cmd.WritesStock() })
	died := r.DiedAt(op.Instance)
	switch {
	case op.Outcome != history.Sold || op.Status == accepted || !op.Done.Known():
		return nil
	case i < 0 && op.Phase == history.Buy && len(op.Trace) > 0 && died.Known() && op.Done < died:
		return answeredEarly.defect("%s was answered, and its instance killed before the write of the stock", r.name(op))
	case i < 0 || op.Trace[i].Came() <= op.Done:
		return nil
	}
	came := op.Trace[i].Came()
	if slices.ContainsFunc(r.Ops, func(other history.Op) bool {
		return other.Order != op.Order && other.Instance == op.Instance && other.Sent <= came && came <= other.Over()
	}) {
		return nil
	}
	return answeredEarly.defect("%s's %s of the stock came %s after its answer", r.name(op), op.Trace[i].Cmd,
		since(op.Done, came))
}

// unwoken tells of an order that waited in vain for a lock that had been released, for as long as a fresh order may
// take: stock is left in every cell. One that sleeps beyond the expiry of a lease is found by fresh orders, when the
// holder has died.
func (r *record) unwoken(i int) *history.Defect {
	op := &r.Ops[i]
	waited := op.Done.Known() || op.GaveUp == history.TimedOut
	if !waited || op.Outcome == history.Sold || r.hasUs() || !waits(op) {
		return nil
	}
	until := op.Over()
	freed, how, free := r.line.FreeAt(until)
	if freed = max(freed, op.Sent); !free || how != history.Released && how != history.Removed ||
		until-freed < Margin+r.stalled {
		return nil
	}
	return nobodyWakes.defect("%s got no unit in %s after the lock had been released, though nobody held it", r.name(op),
		since(freed, until))
}

// waits reports whether an order asked for the lock, did not get it, and has not sold. A renewal asks for none.
func waits(op *history.Op) (waits bool) {
	for i := range op.Trace {
		cmd := &op.Trace[i]
		switch {
		case cmd.Usually(history.EffectRenewed) && !cmd.Usually(history.EffectAcquired):
		case sold(cmd):
			return false
		case took(cmd) && cmd.Heard().Known():
			waits = false
		case cmd.Acquires(), cmd.Releases(): // one that did not hear that the lock is taken waits for its client
			waits = took(cmd) || cmd.Releases() || cmd.Heard().Known()
		}
	}
	return waits
}
