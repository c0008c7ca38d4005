package audit

import (
	"cmp"
	"slices"

	"stockapi/loadtest/history"
)

// leases are the result of a second pass over a cell's ops, for the verdicts about who held the lock, and when.
type leases struct {
	*books
	all []lease
	// trips, by the number of the op, relate a lease's clock to other clocks. They are only filled if there are several
	// clocks, or if it matters which order came first.
	trips []trip
	// alone means that no two of them can be compared.
	alone bool
}

// A lease is that of one order, by its clock.
type lease struct {
	acquired, until history.Instant
	late, done      history.Instant
	op, clock       int32
	reading, buyer  bool
}

// A trip is when an order was sent and answered, and how far the clock can have been ahead meanwhile.
type trip struct{ sent, done, ahead history.Instant }

func readLeases(b *books) *leases {
	l := &leases{books: b}
	if b.locks == 0 {
		return l
	}
	l.all = make([]lease, 0, b.locks)
	if len(b.clocks.ids) > 1 || b.InLine || b.Waiting > 0 {
		l.trips = make([]trip, b.Len())
	}
	for i, op := range b.All() {
		if op.Lease != nil && op.Lease.AcquiredAt.Known() {
			l.add(int32(i), op)
		}
	}
	l.lateWithOthers()
	if l.alone = !l.peers(); l.alone {
		b.seen = 0
	}
	return l
}

// peers reports whether any two leases can be compared: readers share the lock.
func (l *leases) peers() bool {
	return len(l.all) < 2 || slices.ContainsFunc(l.all, func(one lease) bool { return !one.reading })
}

// lateWithOthers assumes an order to be no later than the next two of the same clock: after a clock was set back, they
// seem as late. So an answer that was late by itself, as on a busy machine, excuses nothing.
func (l *leases) lateWithOthers() {
	l.sort(func(a, b lease) int { return cmp.Compare(a.done, b.done) })
	for i := range l.all {
		for j := i + 1; j < len(l.all) && j <= i+2 && l.all[j].clock == l.all[i].clock && l.all[j].done.Known(); j++ {
			l.all[i].late = min(l.all[i].late, l.all[j].late)
		}
	}
}

func (l *leases) add(i int32, op *history.Op) {
	one := lease{
		acquired: op.Lease.AcquiredAt, until: until(op.Lease), late: l.clocks.late(op), done: op.Done,
		op: i, clock: l.clocks.of(op.Instance),
		reading: op.Phase == history.Reading, buyer: op.Phase == history.Buy,
	}
	// This order was stopped, and when it was continued it noticed the loss of its lease before it did anything else.
	// While it was stopped it believed nothing, so all that is known of its lease is when it was taken.
	if op.Lease.Noticed && stopped(l.Cell, op) {
		one.until = one.acquired
	}
	l.all = append(l.all, one)
	if l.trips != nil {
		l.trips[i] = trip{op.Sent, op.Done, l.clocks.ahead(op)}
	}
}

// stopped reports whether an order's process was stopped during the order.
func stopped(c *history.Cell, op *history.Op) bool {
	return slices.ContainsFunc(c.Faults, func(f history.Fault) bool { return f.Stopped && f.Order == op.Order })
}

// set returns a clock that granted leases and was set during the cell.
func (b *books) set() (id string, yes bool) {
	return b.clocks.set(func(clock int32) bool { return b.clocks.bounds[clock].locks })
}
