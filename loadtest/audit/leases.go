package audit

import (
	"cmp"
	"slices"

	"stockapi/loadtest/history"
)

// A lease is one order's, by its instance's clock; sent is when that order was sent, by the client's clock.
type lease struct {
	acquired, until, sent history.Instant
	op                    int
	reading, buyer        bool
}

// readLeases collects the leases, for the verdicts about the holders of the lock.
func (b *books) readLeases() {
	for i, op := range b.ops {
		if op.Lease != nil && op.Lease.AcquiredAt.Known() {
			b.leases = append(b.leases, b.lease(i, op))
		}
	}
	slices.SortFunc(b.leases, func(a, b lease) int {
		return cmp.Or(cmp.Compare(a.acquired, b.acquired), cmp.Compare(a.until, b.until), cmp.Compare(a.op, b.op))
	})
	if b.alone = !b.peers(); b.alone {
		b.seen = 0
	}
}

// peers reports whether any two leases can be compared. Those of two readers cannot: they share the lock.
func (b *books) peers() bool {
	return len(b.leases) < 2 || slices.ContainsFunc(b.leases, func(one lease) bool { return !one.reading })
}

func (b *books) lease(i int, op *history.Op) lease {
	one := lease{
		acquired: op.Lease.AcquiredAt, until: op.Lease.Until(), sent: op.Sent, op: i,
		reading: op.Phase == history.Reading, buyer: op.Phase == history.Buy,
	}
	// This order was stopped, and once resumed it noticed the loss of its lease before it did anything else. While it
	// was stopped it believed nothing, so all that is known of its lease is when it was acquired.
	if op.Lease.Noticed && stopped(b.Cell, op) {
		one.until = one.acquired
	}
	return one
}

// stopped reports whether an order's process was stopped during the order.
func stopped(c *history.Cell, op *history.Op) bool {
	return slices.ContainsFunc(c.Faults, func(f history.Fault) bool {
		return f.Kind == history.FaultStop && f.Order == op.Order
	})
}
