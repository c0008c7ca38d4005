package history

import "slices"

// A Holder is the holder of a lock at an instant.
type Holder struct {
	// Known is false if it is unknown whether the lock was held, or by which order.
	Known bool
	// Tenure is the holder's, nil if the lock was free. Of several concurrent holders it is the last one's.
	Tenure *Tenure
}

// HolderAt returns the holder of the lock at an instant, as [Timeline.Explain] found. That is exact where effects were
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

// HeldSince returns when an order of an instance last acquired a lock that it did not release, [Never] if none did.
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

// LeaseOf returns the span in which an order believed that it held the lock: from the reply to its last acquire before
// its write of the stock, or its read if it wrote nothing, to its first release after that. For an order that sold
// without an acquire it is the span of its commands on the stock. It is nil if there is no such span.
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

// workedUntil returns when an order whose work is not observed had finished its work under the lock: when it tried to
// release the lock, even in vain, or was answered.
func (o *Op) workedUntil(acquired Instant) Instant {
	for i := range o.Trace {
		if cmd := &o.Trace[i]; cmd.Usually(EffectReleased) && cmd.Came() > acquired {
			return cmd.Came()
		}
	}
	return o.Done
}

// atStock returns the indices of the first command on the stock and of the last write, or of the last read if there is
// no write; -1 for none. A script that writes may refuse before it reaches the stock.
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

// heardOfLock returns when an order received the reply to its last acquire before its command on the stock, and when
// its first release arrived: after that command, or at any time if the shop releases early. -1 is no command.
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
