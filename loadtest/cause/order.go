package cause

import (
	"slices"

	"stockapi/loadtest/history"
)

// ownDefect returns a defect that an order's own commands show, whatever their outcome.
func (r *record) ownDefect() *history.Defect {
	for i := range r.Ops {
		for j := range r.Ops[i].Trace {
			if d := r.ofCommand(i, &r.Ops[i].Trace[j]); d != nil {
				return d
			}
		}
		if d := r.ofAnswer(&r.Ops[i]); d != nil {
			return d
		}
		if d := r.unwoken(i); d != nil {
			return d
		}
	}
	return nil
}

// ofCommand returns the defect of an order's command, nil if there is none.
func (r *record) ofCommand(order int, cmd *history.Command) *history.Defect {
	op := &r.Ops[order]
	switch {
	case took(cmd):
		return r.ofSecondAcquire(order, cmd)
	case cmd.Releases() && tookAt(op) > cmd.At && !r.facts.Name && !r.isCovered(op, cmd.At-1):
		return releasedUnheld.defect("%s's %s removed %s", r.name(op), cmd.Cmd, cmd.Key)
	case sold(cmd) && !r.believes(order, cmd.At):
		return r.ofUnlockedWrite(op, cmd)
	}
	return nil
}

// believes reports whether an order believes at a moment that it holds a lock: its acquire was answered, and it has not
// released the lock.
func (r *record) believes(order int, at history.Instant) bool {
	return slices.ContainsFunc(r.line.Locks, func(l *history.Lock) bool {
		h := l.TenureOf(order, at)
		return h != nil && h.Heard.Known() && (h.How != history.Released || h.At > at)
	})
}

// ofUnlockedWrite returns the defect of a write of the stock by an order that does not believe that it holds the lock,
// nil if there is none.
func (r *record) ofUnlockedWrite(op *history.Op, cmd *history.Command) *history.Defect {
	var released, tried *history.Command // the last ones before the write
	for i := range op.Trace {
		switch one := &op.Trace[i]; {
		case one == cmd:
			return r.howUnlocked(op, cmd, released, tried)
		case one.Releases():
			released = one
		case one.Acquires() && !took(one) && one.Heard().Known():
			tried = one
		}
	}
	return nil
}

func (r *record) howUnlocked(op *history.Op, cmd, released, tried *history.Command) *history.Defect {
	switch {
	case released != nil && before(cmd, released):
	case released != nil:
		return releasedEarly.defect("%s's %s of the stock came %s after it had released the lock", r.name(op), cmd.Cmd,
			since(released.At, cmd.At))
	case tookAt(op) <= cmd.At || len(r.facts.Locks) == 0 || r.isCovered(op, cmd.At):
	case tried != nil:
		return wentOn.defect("%s wrote the stock %s after it had found the lock taken", r.name(op), since(tried.At, cmd.At))
	default:
		return soldUnlocked.defect("%s's %s of the stock came without an acquire", r.name(op), cmd.Cmd)
	}
	return nil
}

// isCovered reports whether another order at the same instance may hold the lock for this one, at that moment.
func (r *record) isCovered(op *history.Op, at history.Instant) bool {
	return slices.ContainsFunc(r.line.Locks, func(l *history.Lock) bool {
		h := l.HolderAt(at)
		return !h.Known || h.Tenure != nil && r.Ops[h.Tenure.Order].Instance == op.Instance
	})
}

// before reports whether an order sent a command before another on one connection: only a trial that held the first can
// have reversed them.
func before(cmd, other *history.Command) bool {
	return cmd.Wire != nil && other.Wire != nil && cmd.Wire.Conn == other.Wire.Conn && cmd.Came() < other.Came()
}

// ofSecondAcquire returns the defect of a renewal that acquires the lock, nil if there is none: the order believes that
// it holds the lock already.
func (r *record) ofSecondAcquire(order int, cmd *history.Command) *history.Defect {
	op, l := &r.Ops[order], r.lock(cmd)
	if l == nil {
		return nil
	}
	h := l.TenureOf(order, cmd.At-1)
	if h == nil || !h.Heard.Known() || h.How == history.Released && h.By == order && h.At <= cmd.At {
		return nil
	}
	if other := r.takenFrom(op, l, cmd); other != nil {
		return renewalTakes.defect("%s's %s, %s after its acquire, took %s from %s", r.name(op), cmd.Cmd,
			since(h.Sent, cmd.At), cmd.Key, r.name(other))
	}
	if cmd.Usually(history.EffectRenewed) {
		return renewalMakes.defect("%s's %s recreated %s %s after its acquire", r.name(op), cmd.Cmd, cmd.Key,
			since(h.Sent, cmd.At))
	}
	return nil
}

// takenFrom returns the order at another instance whose lock a command took, nil if it was free.
func (r *record) takenFrom(op *history.Op, l *history.Lock, taken *history.Command) *history.Op {
	h := l.HolderAt(taken.At - 1)
	if taken.Wire == nil || taken.Wire.Was == "" || !h.Known || h.Tenure == nil {
		return nil
	}
	if other := &r.Ops[h.Tenure.Order]; other.Instance != op.Instance {
		return other
	}
	return nil
}

// lock returns the lock of a command, nil if there is none.
func (r *record) lock(cmd *history.Command) *history.Lock {
	for _, l := range r.line.Locks {
		if l.Key == cmd.Key && l.Node == cmd.Node {
			return l
		}
	}
	return nil
}

// ofAnswer returns the defect of an order that was answered before its unit was taken, nil if there is none. A 202 is
// not a sale yet. With several open orders at an instance, a late write may be that of any.
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

// unwoken returns the defect of an order that waited in vain for a released lock, for as long as a fresh order may
// take: stock is left in every cell. Fresh orders find one that sleeps past an expiry, after the holder has died.
func (r *record) unwoken(i int) *history.Defect {
	op := &r.Ops[i]
	waited := op.Done.Known() || op.GaveUp == history.TimedOut
	until := op.Over()
	if !waited || op.Outcome == history.Sold || r.hasUs() || !isWaiting(op) || waitsForReply(op, until) {
		return nil
	}
	freed, how, free := r.line.FreeAt(until)
	if freed = max(freed, op.Sent); !free || how != history.Released && how != history.Removed ||
		until-freed < Margin+r.stalled {
		return nil
	}
	return nobodyWakes.defect("%s got no unit in the %s after the lock was released, although it stayed free", r.name(op),
		since(freed, until))
}

// waitsForReply reports whether the server had replied to an order, and the reply was not yet delivered: it queued
// behind one that a fault held, on the same connection.
func waitsForReply(op *history.Op, then history.Instant) bool {
	return slices.ContainsFunc(op.Trace, func(cmd history.Command) bool {
		return cmd.End.Known() && cmd.End <= then && cmd.Heard() > then
	})
}

// isWaiting reports whether an order tried to acquire the lock, failed, and has not sold. A renewal is no try.
func isWaiting(op *history.Op) (waits bool) {
	for i := range op.Trace {
		cmd := &op.Trace[i]
		switch {
		case cmd.Usually(history.EffectRenewed) && !cmd.Usually(history.EffectAcquired):
		case sold(cmd):
			return false
		case took(cmd) && cmd.Heard().Known():
			waits = false
		case cmd.Acquires(), cmd.Releases(): // without a reply an order waits for its client
			waits = took(cmd) || cmd.Releases() || cmd.Heard().Known()
		}
	}
	return waits
}
