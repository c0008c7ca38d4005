package explain

import (
	"cmp"
	"slices"

	"stockapi/loadtest/history"
)

// The lock is free, or it has a holder. An order is two acts: it gets the lock before it says that it has it, and gives
// it back after it has said that it is going to. What lies between is its own.

const free state = 0

// leases is who held the lock around a violation, in the order in which they got it.
type leases struct {
	cell *history.Cell
	ops  []*history.Op
}

// holder is an order that held the lock, with its number in the cell.
type holder struct {
	number int
	op     *history.Op
}

// inTurn compares two holders by when they got the lock.
func inTurn(a, b holder) int {
	return cmp.Or(cmp.Compare(a.op.Lease.AcquiredAt, b.op.Lease.AcquiredAt), cmp.Compare(a.number, b.number))
}

// leasesAround finds the leases of a violation, and as many before the first and after the last of them as the widest
// window has.
func leasesAround(c *history.Cell, kept picks, violation []*history.Op) *leases {
	var own, before, after []holder
	for i, op := range c.All() {
		if op.Lease != nil && slices.Contains(violation, kept[i]) {
			own = append(own, holder{i, kept[i]})
		}
	}
	if len(own) == 0 {
		return &leases{cell: c}
	}
	slices.SortFunc(own, inTurn)
	for i, op := range c.All() {
		if op.Lease == nil {
			continue
		}
		switch h := (holder{i, op}); {
		case inTurn(h, own[0]) < 0:
			before = nearest(before, h, func(a, b holder) int { return inTurn(b, a) })
		case inTurn(h, own[len(own)-1]) > 0:
			after = nearest(after, h, inTurn)
		}
	}
	slices.Reverse(before)
	l := &leases{cell: c}
	for _, h := range slices.Concat(before, own, after) {
		l.ops = append(l.ops, kept.keep(h.number, h.op))
	}
	return l
}

// nearest puts a holder among those that come first, of which the widest window has so many.
func nearest(first []holder, h holder, order func(a, b holder) int) []holder {
	at, _ := slices.BinarySearchFunc(first, h, order)
	if at == reaches[0] {
		return first
	}
	kept := *h.op
	first = slices.Insert(first, at, holder{h.number, &kept})
	return first[:min(len(first), reaches[0])]
}

// around cuts a window around two leases that overlap: these, and the few before and after them.
func (l *leases) around(violation []*history.Op, reach int) *question {
	q := &question{initial: free}
	q.tell = func(s state) string {
		if s == free {
			return "free"
		}
		return "held by " + who(l.cell, l.ops[s-1])
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
			q.acts = append(q.acts, gets(l.cell, op, state(i+1)), gives(l.cell, op, state(i+1)))
		}
	}
	return q.closed()
}

// gets is an order that gets the lock. It did so before the moment that its lease names. How long before makes no
// difference to what is legal; for the picture, it is since its first command.
func gets(c *history.Cell, op *history.Op, holder state) *act {
	acquired := at(op.Lease.AcquiredAt)
	s := span{acquired, acquired}
	if t, known := commands(op); known {
		s.call = min(s.call, t.call)
	}
	return &act{
		span: s, op: op, text: "order " + c.Short(op.Order) + " gets the lock", more: details(op),
		step: func(now state) (state, bool) { return holder, now == free },
	}
}

// gives is the same order giving it back, some time after the moment that its lease names. If it names none, nobody
// knows when, or whether at all.
func gives(c *history.Cell, op *history.Op, holder state) *act {
	s := span{at(op.Lease.AcquiredAt), open}
	if op.Lease.ReleasedAt.Known() {
		s = span{at(op.Lease.ReleasedAt), at(op.Lease.ReleasedAt)}
		if t, known := commands(op); known {
			s.ret = max(s.ret, t.ret)
		}
	}
	return &act{
		span: s, op: op, text: "order " + c.Short(op.Order) + " gives it back", more: details(op),
		step: func(now state) (state, bool) { return free, now == holder },
	}
}
