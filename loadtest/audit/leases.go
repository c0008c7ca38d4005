package audit

import (
	"cmp"
	"slices"

	"stockapi/loadtest/history"
)

// leases are the result of a second pass over a cell's ops, for the verdicts about who held the lock, and when. They
// are in the order in which they were acquired.
type leases struct {
	*books
	all []lease
	// stockSafe means that the stock is right, whatever the lock did.
	stockSafe bool
	// alone means that no two of them can be compared.
	alone bool
}

// A lease is that of one order, by its clock, with when that order was sent, by the client's.
type lease struct {
	acquired, until, sent history.Instant
	op                    int32
	reading, buyer        bool
}

func readLeases(b *books) *leases {
	l := &leases{books: b}
	if b.locks == 0 {
		return l
	}
	l.all = make([]lease, 0, b.locks)
	for i, op := range b.All() {
		if op.Lease != nil && op.Lease.AcquiredAt.Known() {
			l.add(int32(i), op)
		}
	}
	slices.SortFunc(l.all, func(a, b lease) int {
		return cmp.Or(cmp.Compare(a.acquired, b.acquired), cmp.Compare(a.until, b.until), cmp.Compare(a.op, b.op))
	})
	if l.alone = !l.peers(); l.alone {
		b.seen = 0
	}
	return l
}

// peers reports whether any two leases can be compared: readers share the lock.
func (l *leases) peers() bool {
	return len(l.all) < 2 || slices.ContainsFunc(l.all, func(one lease) bool { return !one.reading })
}

func (l *leases) add(i int32, op *history.Op) {
	one := lease{
		acquired: op.Lease.AcquiredAt, until: op.Lease.Until(), sent: op.Sent, op: i,
		reading: op.Phase == history.Reading, buyer: op.Phase == history.Buy,
	}
	// This order was stopped, and when it was continued it noticed the loss of its lease before it did anything else.
	// While it was stopped it believed nothing, so all that is known of its lease is when it was taken.
	if op.Lease.Noticed && stopped(l.Cell, op) {
		one.until = one.acquired
	}
	l.all = append(l.all, one)
}

// stopped reports whether an order's process was stopped during the order.
func stopped(c *history.Cell, op *history.Op) bool {
	return slices.ContainsFunc(c.Faults, func(f history.Fault) bool { return f.Stopped && f.Order == op.Order })
}
