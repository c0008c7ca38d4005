package audit

import (
	"slices"

	"stockapi/loadtest/history"
)

// leases is what a second look at a cell's ops leaves, for the verdicts that are about who held the lock, and when.
type leases struct {
	*books
	all    []lease
	grants []grant
}

// lease is one order's, by its clock.
type lease struct {
	acquired, until history.Instant
	sent, done      history.Instant
	late, ahead     history.Instant
	op, clock       int32
	reading, buyer  bool
}

// grant is the giving of one fencing token: it happened between begun and ended, by the clock.
type grant struct {
	token        int64
	begun, ended history.Instant
	late         history.Instant
	op, clock    int32
}

func readLeases(b *books) *leases {
	l := &leases{books: b}
	if b.locks == 0 {
		return l
	}
	l.all = make([]lease, 0, b.locks)
	for i, op := range b.All() {
		if op.Lease != nil {
			l.add(int32(i), op)
		}
	}
	return l
}

func (l *leases) add(i int32, op *history.Op) {
	clock := l.clocks.of(op.Instance)
	one := lease{
		acquired: op.Lease.AcquiredAt, until: until(op.Lease), sent: op.Sent, done: op.Done, late: l.clocks.late(op), ahead: l.clocks.ahead(op),
		op: i, clock: clock, reading: op.Phase == history.Reading, buyer: op.Phase == history.Buy,
	}
	// An order that was stopped, and that found its lease lost when it went on, before it did anything else: what stands
	// still believes nothing, and all that is known of such a lease is when it was taken.
	if op.Lease.Noticed && stopped(l.Cell, op) {
		one.until = one.acquired
	}
	l.all = append(l.all, one)
	if op.Lease.Fence != 0 {
		if l.grants == nil {
			l.grants = make([]grant, 0, l.locks-len(l.all)+1)
		}
		l.grants = append(l.grants, grant{
			token: op.Lease.Fence, begun: begun(op, l.clocks.bounds[clock]), ended: one.acquired, late: one.late, op: i, clock: clock,
		})
	}
}

// stopped reports whether an order's process was stopped while it was under way.
func stopped(c *history.Cell, op *history.Op) bool {
	return slices.ContainsFunc(c.Faults, func(f history.Fault) bool { return f.Stopped && f.Order == op.Order })
}

// set names a clock that granted leases and was set while the cell ran.
func (l *leases) set() (id string, yes bool) {
	used := make([]bool, len(l.clocks.ids))
	for i := range l.all {
		used[l.all[i].clock] = true
	}
	return l.clocks.set(func(clock int32) bool { return used[clock] })
}
