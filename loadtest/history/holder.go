package history

import "slices"

// A Holder is the holder of a lock at an instant.
type Holder struct {
	// Known is false if it is unknown whether the lock was held, or by which order.
	Known bool
	// Tenure is the holder's, nil if the lock was free. Of several concurrent holders it is the last one's.
	Tenure *Tenure
}

// HolderAt returns the holder of the lock at an instant, under the timeline's terms. That is exact where effects were
// observed. Where the names of commands decide, the holder is unknown while a command is in flight, and so is whether
// the lock is free: a command whose reply was lost may have acquired it.
func (l *Lock) HolderAt(at Instant) Holder {
	free := Instant(0)
	for i := l.from(at+1) - 1; i >= 0; i-- {
		h := &l.Tenures[i]
		switch {
		case h.At <= at:
			free = max(free, h.At)
		case l.StraysIn(h.From, at), h.Since < at:
			return Holder{}
		default:
			return Holder{Known: true, Tenure: h}
		}
	}
	taken := l.from(at + 1)
	underWay := taken < len(l.Tenures) && l.Tenures[taken].Sent < at
	leftHeld := slices.ContainsFunc(l.left, func(left Instant) bool { return free <= left && left <= at })
	if l.unseen || underWay || leftHeld || l.StraysIn(free, at) {
		return Holder{}
	}
	return Holder{Known: true}
}

// OwnerAt returns the last tenure that had begun by then, nil if an order has released the lock since. Its lease may
// have expired: a command that found the lock shows that it was there.
func (l *Lock) OwnerAt(at Instant) (owner *Tenure) {
	for i := range l.Tenures {
		if h := &l.Tenures[i]; h.Sent < at {
			owner = h
		}
	}
	if owner == nil || owner.At <= at && (owner.How == Released || owner.How == Removed) || l.StraysIn(owner.From, at) {
		return nil
	}
	return owner
}

// StraysIn reports whether a stray command acquired or removed the lock between two instants.
func (l *Lock) StraysIn(from, to Instant) bool {
	return slices.ContainsFunc(l.strays, func(at Instant) bool { return from <= at && at <= to })
}

// FreeAt reports whether no order held any lock of the cell at an instant, since when, and how the last tenure before
// it ended: [NoEnd] if there was none.
func (t *Timeline) FreeAt(at Instant) (since Instant, how Ending, free bool) {
	for _, l := range t.Locks {
		h := l.HolderAt(at)
		if !h.Known || h.Tenure != nil {
			return Never, NoEnd, false
		}
		for i := range l.Tenures {
			if e := l.Tenures[i].End; e.At <= at && e.At >= since {
				since, how = e.At, e.How
			}
		}
	}
	return since, how, true
}

// LeaseOf returns the span in which an order believed that it held the lock: from the reply to its last acquire before
// its write of the stock, or its read if it wrote nothing, to its first release after that. For an order that sold
// without an acquire it is the span of its commands on the stock. It is nil if there is no such span.
func (t *Timeline) LeaseOf(order int) *Lease {
	c, facts := t.CourseOf(order), t.cell.Facts
	if facts == nil {
		facts = &Facts{}
	}
	first, sale := c.Sale()
	since := c.Last.Since
	if sale >= 0 {
		since = c.Events[sale].Since
	}
	end := c.freed(sale, since, facts.Early)
	switch died := t.cell.DiedAt(c.Instance); {
	case end.Known():
	case died.Known():
		end = died
	case sale >= 0 && c.Events[sale].End.Known():
		end = c.Events[sale].End
	case sale >= 0:
		end = c.Events[sale].At
	case facts.Elsewhere:
		end = c.workedUntil(since)
	}
	switch {
	case since.Known() && end.Known():
		return &Lease{AcquiredAt: since, ReleasedAt: max(since, end)}
	case since.Known():
		return &Lease{AcquiredAt: since, ReleasedAt: since}
	case first >= 0 && c.Outcome == Sold:
		return &Lease{AcquiredAt: c.Events[first].Came(), ReleasedAt: end}
	}
	return nil
}

// workedUntil returns when an order whose work is not observed had finished its work under the lock: when it tried to
// release the lock, even in vain, or was answered.
func (c *Course) workedUntil(acquired Instant) Instant {
	for i := range c.Events {
		if s := &c.Events[i]; s.Usually(EffectReleased) && s.Came() > acquired {
			return s.Came()
		}
	}
	return c.Done
}

// DiedAt returns when an instance of a cell was killed, [Never] if it was not.
func (c *Cell) DiedAt(instance string) Instant {
	for _, f := range c.Faults {
		if f.Instance == instance && f.Kind == FaultKill {
			return f.At
		}
	}
	return Never
}
