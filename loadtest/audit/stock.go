package audit

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"

	"stockapi/loadtest/history"
)

// stock judges whether sales and stock agree: every unit sold existed and was sold once, no order got more than it
// ordered or was refused a unit that was there, and the stock is lower by the units sold. The final stock proves
// nothing by itself: read, decide, write never goes below zero.
//
// A unit that an answer of status 200 names is sold, whatever else is wrong with the answer.
func stock(b *books) history.Finding {
	if b.Count != nil {
		return byCount(b)
	}
	if h := b.soldTwice(); h.total > 0 {
		return h.broken(history.Stock, b.twice)
	}
	if h := b.neverExisted(); h.total > 0 {
		return h.broken(history.Stock, b.beyond)
	}
	if b.surplus.total > 0 {
		return b.surplus.broken(history.Stock, b.tooMany)
	}
	if b.promised > b.Initial {
		return broken(history.Stock, []history.Evidence{{
			Text: fmt.Sprintf("%d units were sold, of a stock of %d", b.promised, b.Initial),
		}}, 1)
	}
	if h, _ := b.wrongRefusals(); h.total > 0 {
		return h.broken(history.Stock, b.wrongRefusal)
	}
	f := b.balance()
	if f.Result == history.OK && b.noFaults() && b.sales == 0 && b.Initial > 0 {
		return answer(history.Stock, history.Indeterminate, "nothing was sold, so nothing was proven")
	}
	return f
}

// balance compares the units taken from the stock with the units known to be sold.
//
// Even with unknown outcomes one case is certain. The stock came down past every unit above the final one, so some
// order took each unit that no answer names. If the orders of unknown outcome wanted exactly that number, and each sent
// its write and never saw the reply, then they sold exactly those units, and none twice. An order without such a write
// may have sold nothing while a unit was lost.
func (b *books) balance() history.Finding {
	if b.Left == nil {
		return answer(history.Stock, history.Indeterminate, "the stock could not be read at the end")
	}
	gone, sold := b.Initial-*b.Left, int64(len(b.receipts))
	switch {
	case b.missing > 0:
		return answer(history.Stock, history.Indeterminate, "%d %s gone than the answers account for; "+
			"was a generator cut short? If not, add --orders with the number of orders", b.missing,
			oneOr(b.missing, "more unit is", "more units are"))
	case gone < sold || gone > sold+b.open:
		text := fmt.Sprintf("%d sold, but the stock went from %d to %d", sold, b.Initial, *b.Left)
		if b.open > 0 {
			text += fmt.Sprintf(", and %d of unknown outcome cannot explain it", b.open)
		}
		return broken(history.Stock, []history.Evidence{{Text: text}}, 1)
	case gone < sold+b.open:
		return answer(history.Stock, history.Indeterminate, "%s: %s sold again%s", b.unknownUnits(),
			oneOr(b.open, "it may be another's unit", "they may be others' units"), b.strange)
	case b.unexplained > 0:
		which := oneOr(b.open, "it", "them")
		if b.unexplained < b.open {
			which = fmt.Sprintf("%d of them", b.unexplained)
		}
		return answer(history.Stock, history.Indeterminate, "%s and the stock is lower by that much, "+
			"but no write without a reply explains %s: one may have been lost and another not sold%s",
			b.unknownUnits(), which, b.strange)
	}
	return history.Finding{Verdict: history.Stock, Result: history.OK}
}

// unknownUnits returns how many units the orders of unknown outcome may have taken, in words.
func (b *books) unknownUnits() string {
	return fmt.Sprintf("%d %s of unknown outcome", b.open, oneOr(b.open, "unit is", "units are"))
}

// oneOr returns one if n is 1, else many.
func oneOr(n int64, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// soldAt returns the instant that orders a sale among those of the cell, and at which a timeline draws it: the end of
// its write or, if that is unknown or was timed by one of several clocks, its answer.
func (b *books) soldAt(op *history.Op) history.Instant {
	if w := op.LastWrite(); w != nil && b.oneClock {
		return w.End
	}
	return op.Done
}

// soldTwice returns each receipt for a unit that already has one. Its total counts units, as the figures do.
func (b *books) soldTwice() *violations {
	slices.SortFunc(b.receipts, func(x, y receipt) int {
		return cmp.Or(cmp.Compare(x.unit, y.unit), cmp.Compare(x.at, y.at), cmp.Compare(x.op, y.op))
	})
	h := &violations{}
	first, units := 0, 0
	for i := 1; i < len(b.receipts); i++ {
		if b.receipts[i].unit != b.receipts[first].unit {
			first = i
			continue
		}
		if i == first+1 {
			units++
		}
		r := b.receipts[i]
		h.add(violation{at: r.at, a: b.receipts[first].op, b: r.op, value: r.unit})
	}
	h.total = units
	return h
}

func (b *books) twice(h violation) history.Evidence {
	before, again := b.ops[h.a], b.ops[h.b]
	at := []history.Instant{b.soldAt(before), b.soldAt(again)}
	e := evidence(fmt.Sprintf("%s sold unit %d to %s at %s; %s sold unit %d again to %s at %s",
		instance(b.Cell, before), h.value, order(b.Cell, before), at[0],
		instance(b.Cell, again), h.value, order(b.Cell, again), at[1]), at, before, again)
	e.Unit = h.value
	return e
}

// neverExisted returns the sales of units outside the stock: serial numbers run from 1 to the initial stock.
func (b *books) neverExisted() *violations {
	h := &violations{}
	for _, r := range b.receipts {
		if r.unit < 1 || r.unit > b.Initial {
			h.add(violation{at: r.at, a: r.op, value: r.unit})
		}
	}
	return h
}

func (b *books) beyond(h violation) history.Evidence {
	op := b.ops[h.a]
	e := evidence(fmt.Sprintf("%s sold unit %d to %s, of a stock of %d",
		instance(b.Cell, op), h.value, order(b.Cell, op), b.Initial), []history.Instant{b.soldAt(op)}, op)
	e.Unit = h.value
	return e
}

func (b *books) tooMany(h violation) history.Evidence {
	op := b.ops[h.a]
	return evidence(fmt.Sprintf("%s sold more units to %s than the %d that it ordered", instance(b.Cell, op),
		order(b.Cell, op), op.Quantity), []history.Instant{op.Done}, op)
}

// wrongRefusals returns the orders that were refused for lack of stock when enough must have been left, and how many
// refusals are proven right: the units certainly gone by then leave too few. The rest are neither.
func (b *books) wrongRefusals() (h *violations, checked int) {
	b.leftByRequests()
	b.leftByLeases()
	h = &violations{}
	for i := range b.refusals {
		switch r := &b.refusals[i]; {
		case r.left >= r.quantity:
			h.add(violation{at: r.done, a: r.op, value: r.left})
		case b.Initial-r.gone < r.quantity:
			checked++
		}
	}
	return h, checked
}

// leftByRequests bounds the stock left at each refusal, by the client's clock. Certainly left was the stock less all
// that orders sent by then, of unknown outcome too, can have taken. Certainly gone were the sales answered by then or,
// if the refused order's lease is known, those answered before it was sent: leases need not be in the order of the
// answers.
func (b *books) leftByRequests() {
	off := 4 * b.error
	for i := range b.refusals {
		b.refusals[i].left, b.refusals[i].gone = math.MinInt64, 0
	}
	leftAt(b.Initial, b.sends, b.refusals,
		func(s *send) history.Instant { return s.sent },
		func(r *refusal) history.Instant {
			if !r.done.Known() {
				return far
			}
			return r.done + off
		})
	goneAt(b.sends, b.refusals,
		func(s *send) history.Instant { return s.done },
		func(r *refusal) history.Instant {
			if r.known {
				return r.sent - off
			}
			return r.done
		})
}

// leftByLeases does the same by the leases, if one clock times them: an order reads and writes the stock under its
// lease.
func (b *books) leftByLeases() {
	if b.clocks.notJudged() != "" {
		return
	}
	slices.SortFunc(b.sends, func(x, y send) int { return knownFirst(x.timing, y.timing) })
	slices.SortFunc(b.refusals, func(x, y refusal) int { return knownFirst(x.timing, y.timing) })
	timed := sort.Search(len(b.sends), func(i int) bool { return !b.sends[i].known })
	sends, units := b.sends[:timed], b.Initial
	for _, s := range b.sends[timed:] {
		units -= s.quantity
	}
	refusals := b.refusals[:sort.Search(len(b.refusals), func(i int) bool { return !b.refusals[i].known })]
	leftAt(units, sends, refusals,
		func(s *send) history.Instant { return s.acquired },
		func(r *refusal) history.Instant { return r.until })
	goneAt(sends, refusals,
		func(s *send) history.Instant { return s.until },
		func(r *refusal) history.Instant { return r.until })
}

func knownFirst(x, y timing) int {
	switch {
	case x.known == y.known:
		return 0
	case x.known:
		return -1
	}
	return 1
}

// leftAt raises the lower bounds of what was left: units, less all that the orders that may have begun by the end of
// the refusal can have taken.
func leftAt(units int64, sends []send, refusals []refusal, begin func(*send) history.Instant,
	end func(*refusal) history.Instant) {
	eachByTime(sends, refusals, begin, end,
		func(s *send) { units -= s.quantity },
		func(r *refusal) { r.left = max(r.left, units) })
}

// goneAt raises the lower bounds of what was gone: the units sold by the end of the refusal.
func goneAt(sends []send, refusals []refusal, end func(*send) history.Instant, by func(*refusal) history.Instant) {
	gone := int64(0)
	eachByTime(sends, refusals, end, by,
		func(s *send) {
			if s.done.Known() {
				gone += s.quantity
			}
		},
		func(r *refusal) { r.gone = max(r.gone, gone) })
}

// eachByTime calls take and tell in order of time, take first at equal times. It sorts sends and refusals.
func eachByTime(sends []send, refusals []refusal, sent func(*send) history.Instant,
	refused func(*refusal) history.Instant, take func(*send), tell func(*refusal)) {
	sort.Slice(sends, func(i, j int) bool { return sent(&sends[i]) < sent(&sends[j]) })
	sort.Slice(refusals, func(i, j int) bool { return refused(&refusals[i]) < refused(&refusals[j]) })
	next := 0
	for i := range refusals {
		for at := refused(&refusals[i]); next < len(sends) && sent(&sends[next]) <= at; next++ {
			take(&sends[next])
		}
		tell(&refusals[i])
	}
}

func (b *books) wrongRefusal(h violation) history.Evidence {
	op := b.ops[h.a]
	return evidence(fmt.Sprintf("%s refused %s at %s, which wanted %d, although at least %d of %d were left",
		instance(b.Cell, op), order(b.Cell, op), op.Done, op.Quantity, h.value, b.Initial),
		[]history.Instant{op.Done}, op)
}
