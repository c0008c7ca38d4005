package cause

import (
	"slices"
	"strings"

	"stockapi/loadtest/history"
)

// soldTwice returns the defect by which a unit was sold twice, or two orders held the lock at once.
func (r *record) soldTwice(lost string) *history.Defect {
	f := r.Finding(history.Stock)
	if strings.Contains(lost, "E") {
		f = r.Finding(history.Exclusion)
	}
	shown := history.FirstBroken(r.Findings).Because
	for _, one := range []func(history.Finding) (cause, bool){r.ofLoss, r.ofStock, r.ofAcquire} {
		if c, found := one(f); found {
			return c.defect("%s", shown)
		}
	}
	return nil
}

// ofLoss returns how the earlier of two orders lost its lock to the later one.
func (r *record) ofLoss(f history.Finding) (c cause, found bool) {
	x, y, at := r.rivals(f)
	if x < 0 {
		return c, false
	}
	mine := 0 // the keys that the later order held
	for _, l := range r.line.Locks {
		hx, hy := l.TenureOf(x, at), l.TenureOf(y, at)
		if hy == nil {
			continue
		}
		mine++
		if hx != nil && hx.From <= hy.From {
			if c, found = r.ofEnd(hx, hy, l); found {
				return c, true
			}
		}
	}
	if n := len(r.facts.Locks); n > 1 && mine > 0 && mine <= n/2 {
		return tooFewKeys, true
	}
	return c, false
}

// ofEnd returns how a tenure ended before another order's began: a third order removed it, or it was overwritten.
func (r *record) ofEnd(ended, next *history.Tenure, of *history.Lock) (c cause, found bool) {
	switch ended.How {
	case history.Removed:
		if m := r.removalBy(ended.By, of, ended.Since); m != nil {
			return r.howItRemoved(m, r.commandOf(m)), true
		}
	case history.Gone:
		cmd := r.takenBy(next.Order, of.Key, next.Sent)
		switch {
		case cmd == nil || cmd.Wire == nil || cmd.Wire.Was == "":
		case cmd.Usually(history.EffectRenewed) && !cmd.Usually(history.EffectAcquired):
			return renewalTakes, true
		default:
			return tookLater, true
		}
	}
	return c, false
}

// rivals returns the two orders of a violation, in the order of their acquires, and when both held the lock. x and y
// are -1 if the record does not show that.
func (r *record) rivals(f history.Finding) (x, y int, at history.Instant) {
	for _, e := range f.Evidence {
		if len(e.Orders) < 2 {
			continue
		}
		find := func(order string) int {
			return slices.IndexFunc(r.Ops, func(op history.Op) bool { return op.Order == order })
		}
		x, y = find(e.Orders[0]), find(e.Orders[1])
		if x < 0 || y < 0 {
			continue
		}
		if tookAt(&r.Ops[x]) > tookAt(&r.Ops[y]) {
			x, y = y, x
		}
		if at = history.Never - 1; f.Verdict == history.Exclusion && len(e.At) > 0 {
			at = e.At[0]
		}
		return x, y, at
	}
	return -1, -1, history.Never
}

// removalBy returns the removal of another's lock by an order at that moment, nil if there is none.
func (r *record) removalBy(order int, l *history.Lock, at history.Instant) *history.Removal {
	for i := range r.line.Removals {
		if m := &r.line.Removals[i]; m.Order == order && m.Lock() == l && m.By >= 0 && m.At <= at && at <= m.End {
			return m
		}
	}
	return nil
}

// takenBy returns the command by which an order took a lock at that moment.
func (r *record) takenBy(order int, key string, at history.Instant) *history.Command {
	for _, cmd := range on(&r.Ops[order], key) {
		if took(cmd) && cmd.At == at {
			return cmd
		}
	}
	return nil
}

// ofStock returns how a unit was sold twice although the lock was held.
func (r *record) ofStock(f history.Finding) (c cause, found bool) {
	if r.Finding(history.Stock).Result != history.Broken {
		return c, false
	}
	x, y, _ := r.rivals(f)
	switch {
	case r.facts.Fence:
		return r.ofFence(f), true
	case x >= 0 && (r.wroteOther(x) || r.wroteOther(y)):
		return readEarly, true
	case r.facts.ReadsEarly:
		return readEarly, true
	case r.facts.ReadsNever && !r.facts.LockFree:
		return wroteUnread, true
	}
	return c, false
}

// wroteOther reports whether an order read the stock both before and under its lock, and took the unit of the first
// read.
func (r *record) wroteOther(order int) bool {
	op := &r.Ops[order]
	taken, early, under := tookAt(op), -1, -1 // what it read before its acquire, and after
	for i := range op.Trace {
		cmd := &op.Trace[i]
		n, err := numberIn(cmd.Reply)
		switch {
		case !cmd.ReadsStock() || err != nil:
		case cmd.At < taken:
			early = n
		default:
			under = n
		}
	}
	return len(op.Units) > 0 && int64(early) == op.Units[0] && under >= 0 && under != early
}

// ofFence returns why a fence did not help. A late write is refused only once the stock has seen a newer token.
func (r *record) ofFence(f history.Finding) cause {
	x, y, _ := r.rivals(f)
	if x < 0 {
		return fenceLate
	}
	older, newer := r.Ops[x].LastWrite(), r.Ops[y].LastWrite()
	switch {
	case older == nil || newer == nil || older.At < newer.At:
		return fenceLate
	case older.Wire != nil && older.Wire.Compared:
		return fenceBackwards
	}
	return fenceUnchecked
}

// ofAcquire returns how the acquire of every sale admits two orders.
func (r *record) ofAcquire(history.Finding) (c cause, found bool) {
	switch {
	case r.facts.TTL > 0 && r.facts.TTL < r.facts.Takes:
		return shortLease, true
	case r.facts.Overwrites:
		return tookLater, true
	case r.facts.Name:
		return oneForInstance, true
	case len(r.facts.Locks) > 1 && r.Finding(history.Exclusion).Result == history.NotApplicable:
		return tooFewKeys, true // the locks of a crowd are not recorded, but a majority would admit one order
	case r.facts.ReadsTwice:
		return readEarly, true
	}
	return c, false
}
