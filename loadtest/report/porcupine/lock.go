package porcupine

import (
	"cmp"
	"slices"

	"stockapi/loadtest/history"
)

// The lock is free, or it has a holder. Each order is two operations. It acquires the lock before the moment that its
// lease names as acquired, and releases it after the moment that its lease names as released.

const free state = 0

// leases are the orders that held the lock around a violation, by when they acquired it.
type leases struct {
	cell *history.Cell
	ops  []*history.Op
}

// A holder is an order that held the lock, with its number in the cell.
type holder struct {
	number int
	op     *history.Op
}

// byAcquired compares two holders by when they acquired the lock.
func byAcquired(a, b holder) int {
	return cmp.Or(cmp.Compare(a.op.Lease.AcquiredAt, b.op.Lease.AcquiredAt), cmp.Compare(a.number, b.number))
}

// leasesAround finds the leases of a violation, and as many before the first and after the last of them as the widest
// window holds.
func leasesAround(c *history.Cell, kept keptOrders, violation []*history.Op) *leases {
	var own, before, after []holder
	for i, op := range c.All() {
		if op.Lease != nil && slices.Contains(violation, kept[i]) {
			own = append(own, holder{i, kept[i]})
		}
	}
	if len(own) == 0 {
		return &leases{cell: c}
	}
	slices.SortFunc(own, byAcquired)
	for i, op := range c.All() {
		if op.Lease == nil {
			continue
		}
		switch h := (holder{i, op}); {
		case byAcquired(h, own[0]) < 0:
			before = nearest(before, h, func(a, b holder) int { return byAcquired(b, a) })
		case byAcquired(h, own[len(own)-1]) > 0:
			after = nearest(after, h, byAcquired)
		}
	}
	slices.Reverse(before)
	l := &leases{cell: c}
	for _, h := range slices.Concat(before, own, after) {
		l.ops = append(l.ops, kept.keep(h.number, h.op))
	}
	return l
}

// nearest inserts a holder in order, and keeps as many of the first as the widest window holds.
func nearest(first []holder, h holder, order func(a, b holder) int) []holder {
	at, _ := slices.BinarySearchFunc(first, h, order)
	if at == reaches[0] {
		return first
	}
	kept := *h.op
	first = slices.Insert(first, at, holder{h.number, &kept})
	return first[:min(len(first), reaches[0])]
}

// around cuts a window around two leases that overlap: these two, and reach leases before and after them.
func (l *leases) around(violation []*history.Op, reach int) *question {
	q := &question{initial: free}
	q.describe = func(s state) string {
		if s == free {
			return "free"
		}
		return "held by " + orderOn(l.cell, l.ops[s-1])
	}
	first, last := len(l.ops), 0
	for i, op := range l.ops {
		if slices.Contains(violation, op) {
			first, last = min(first, i), max(last, i)
		}
	}
	for i, op := range l.ops {
		near := i < first && i >= first-reach || i > last && i <= last+reach
		if near || slices.Contains(violation, op) {
			q.operations = append(q.operations, acquireOf(l.cell, op, state(i+1)), releaseOf(l.cell, op, state(i+1)))
		}
	}
	return q.withEnds()
}

// acquireOf returns the operation by which an order acquired the lock. It took effect before the moment that the lease
// names. How long before makes no difference to what is legal; the picture draws it from the order's first command on.
func acquireOf(c *history.Cell, op *history.Op, holder state) *operation {
	acquired := at(op.Lease.AcquiredAt)
	s := span{acquired, acquired}
	if t, known := commands(op); known {
		s.call = min(s.call, t.call)
	}
	return &operation{
		span: s, op: op, text: "order " + c.Short(op.Order) + " acquires the lock", more: details(op),
		step: func(now state) (state, bool) { return holder, now == free },
	}
}

// releaseOf returns the operation by which the same order released the lock, some time after the moment that the lease
// names. If it names none, the release may have taken effect at any later time, or never.
func releaseOf(c *history.Cell, op *history.Op, holder state) *operation {
	s := span{at(op.Lease.AcquiredAt), noEnd}
	if op.Lease.ReleasedAt.Known() {
		s = span{at(op.Lease.ReleasedAt), at(op.Lease.ReleasedAt)}
		if t, known := commands(op); known {
			s.ret = max(s.ret, t.ret)
		}
	}
	return &operation{
		span: s, op: op, text: "order " + c.Short(op.Order) + " releases the lock", more: details(op),
		step: func(now state) (state, bool) { return free, now == holder },
	}
}
