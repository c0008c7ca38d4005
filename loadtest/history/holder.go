package history

import "slices"

// A Holder is who held a lock at a moment.
type Holder struct {
	// Known is false if it is not known whether anybody held it, or who.
	Known bool
	// Tenure is the holder's, nil if nobody held the lock. Of several that held it at once it is the last one's.
	Tenure *Tenure
}

// HolderAt returns who held the lock at a moment, as [Timeline.Explain] has found. That is exact where somebody looked
// at the lock. Where the names of commands decide, a moment at which a command was under way is not known, nor is one
// without a holder: a command whose reply was lost may have taken the lock.
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

// StraysIn reports whether a stray command took or removed the lock between two moments.
func (l *Lock) StraysIn(from, to Instant) bool {
	return slices.ContainsFunc(l.strays, func(at Instant) bool { return from <= at && at <= to })
}

// FreeAt reports whether no order held any lock of the cell at a moment, and since when, and how the last tenure before
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

// HeldSince returns when an order of an instance took a lock last that it has not released, [Never] if none holds one.
func (t *Timeline) HeldSince(instance string) Instant {
	since := Never
	for _, l := range t.Locks {
		for _, h := range l.Tenures {
			if t.cell.Ops[h.Order].Instance == instance && h.How != Released && (!since.Known() || h.Sent > since) {
				since = h.Sent
			}
		}
	}
	return since
}

// LeaseOf returns the time in which an order believed that it held the lock: from the reply to its last acquire before
// its write of the stock, or its read if it wrote nothing, to the first release that it sent after that. One that sold
// without having acquired believed so too, while it was at the stock. It is nil if there is no such time.
func (t *Timeline) LeaseOf(order int) *Lease {
	op := &t.cell.Ops[order]
	first, last := op.atStock()
	acquired, end := op.heardOfLock(last, t.cell.Facts != nil && t.cell.Facts.Early)
	switch died := t.cell.DiedAt(op.Instance); {
	case end.Known():
	case died.Known():
		end = died
	case last >= 0 && op.Trace[last].End.Known():
		end = op.Trace[last].End
	case last >= 0:
		end = op.Trace[last].At
	case t.cell.Facts != nil && t.cell.Facts.Elsewhere:
		end = op.workedUntil(acquired)
	}
	switch {
	case acquired.Known() && end.Known():
		return &Lease{AcquiredAt: acquired, ReleasedAt: max(acquired, end)}
	case acquired.Known():
		return &Lease{AcquiredAt: acquired, ReleasedAt: acquired}
	case first >= 0 && op.Outcome == Sold:
		return &Lease{AcquiredAt: op.Trace[first].Came(), ReleasedAt: end}
	}
	return nil
}

// workedUntil returns when an order whose work nobody sees was done with what it does under the lock: when it tried to
// release it, be it in vain, or was answered.
func (o *Op) workedUntil(acquired Instant) Instant {
	for i := range o.Trace {
		if cmd := &o.Trace[i]; cmd.Usually(EffectReleased) && cmd.Came() > acquired {
			return cmd.Came()
		}
	}
	return o.Done
}

// atStock returns the places of the first command at the stock, and of the last write of it, or the last read if there
// is none; -1 where there is none. A script that writes may refuse before it comes to the stock.
func (o *Op) atStock() (first, last int) {
	first, last = -1, -1
	wrote := false
	for i := range o.Trace {
		cmd := &o.Trace[i]
		writes := cmd.WritesStock() || cmd.Usually(EffectWrote)
		if !writes && !cmd.ReadsStock() {
			continue
		}
		if first < 0 {
			first = i
		}
		if writes || !wrote {
			last, wrote = i, writes
		}
	}
	return first, last
}

// heardOfLock returns when an order heard of its last acquire before its command at the stock, the last of several, and
// when its first release after that arrived; before that if the shop releases early. -1 is no command.
func (o *Op) heardOfLock(stock int, early bool) (acquired, released Instant) {
	acquired, released = Never, Never
	for i := range o.Trace {
		cmd := &o.Trace[i]
		before := stock < 0 || i < stock && cmd.Heard() <= o.Trace[stock].Came()
		after := stock < 0 || early || i > stock && cmd.Came() != o.Trace[stock].Came() // one step may write and release
		switch {
		case cmd.Acquires() && cmd.Succeeded() && before && cmd.Heard().Known():
			acquired, released = cmd.Heard(), Never
		case cmd.Releases() && after && !released.Known():
			released = cmd.Came()
		}
	}
	return acquired, released
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
