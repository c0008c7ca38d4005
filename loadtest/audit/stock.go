package audit

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"stockapi/loadtest/history"
)

// stock answers whether the books balance: no unit was sold twice or never existed, nobody was refused what was there,
// and what is left is what the sales leave. The stock that is left proves nothing by itself: read, decide, write never
// goes below zero.
//
// A unit that an answer of status 200 names is sold, whatever else is wrong with the answer.
func stock(b *books) history.Finding {
	if h := b.soldTwice(); h.total > 0 {
		return h.broken(history.Stock, b.twice)
	}
	if h := b.neverExisted(); h.total > 0 {
		return h.broken(history.Stock, b.beyond)
	}
	if b.twoHundreds > b.Initial {
		return broken(history.Stock, []history.Evidence{{
			Text: fmt.Sprintf("%d units were sold, by answers of status 200, of a stock of %d", b.twoHundreds, b.Initial),
		}}, 1)
	}
	if h, _ := b.wrongRefusals(); h.total > 0 {
		return h.broken(history.Stock, b.wrongRefusal)
	}
	f := b.balance()
	if f.Result == history.OK && b.crowd() && b.sales == 0 && b.Initial > 0 {
		return found(history.Stock, history.Unclear, "nothing was sold, so nothing was shown")
	}
	return f
}

// balance compares the units taken from the stock with the units known to be sold.
//
// With unknown outcomes there is one case that is certain all the same. To come down to what is left, the stock passed
// every unit above it, so some order took each unit that no answer names. If those are as many as the orders of unknown
// outcome wanted, and each of these sent its write and never saw the reply, then each of them sold just that, and none
// sold twice. Of an order that does not show such a write it may be that it sold nothing, and that a unit was lost.
func (b *books) balance() history.Finding {
	if b.Left == nil {
		return found(history.Stock, history.Unclear, "the stock could not be read at the end")
	}
	gone, sold := b.Initial-*b.Left, int64(len(b.receipts))
	switch {
	case gone < sold || gone > sold+b.open:
		text := fmt.Sprintf("%d sold, but the stock went from %d to %d", sold, b.Initial, *b.Left)
		if b.open > 0 {
			text += fmt.Sprintf(", and the %d of unknown outcome do not explain it", b.open)
		}
		return broken(history.Stock, []history.Evidence{{Text: text}}, 1)
	case gone < sold+b.open:
		return found(history.Stock, history.Unclear,
			"%d units are of unknown outcome: they may be others' units sold again", b.open)
	case b.unexplained > 0:
		return found(history.Stock, history.Unclear,
			"%d units are of unknown outcome and as many are gone, but no write without a reply shows for %d of them: "+
				"one may have been lost and another not sold",
			b.open, b.unexplained)
	}
	return history.Finding{Verdict: history.Stock, Result: history.OK}
}

// soldTwice returns each receipt for a unit for which there had been one.
func (b *books) soldTwice() *hits {
	slices.SortFunc(b.receipts, func(x, y receipt) int {
		return cmp.Or(cmp.Compare(x.unit, y.unit), cmp.Compare(x.done, y.done), cmp.Compare(x.op, y.op))
	})
	h := &hits{}
	first := 0
	for i := 1; i < len(b.receipts); i++ {
		if b.receipts[i].unit != b.receipts[first].unit {
			first = i
			continue
		}
		r := b.receipts[i]
		h.add(hit{at: r.done, a: b.receipts[first].op, b: r.op, value: r.unit})
	}
	return h
}

func (b *books) twice(h hit) history.Evidence {
	before, again := *b.At(int(h.a)), *b.At(int(h.b))
	return history.Evidence{
		Text: twiceInWords(b.Cell, h.value, &before, &again), Unit: h.value,
		Orders:    []string{before.Order, again.Order},
		Instances: []string{before.Instance, again.Instance},
		At:        []history.Instant{before.Done, again.Done},
	}
}

// neverExisted returns the sales of units beyond the stock: serial numbers run from 1 to the initial stock.
func (b *books) neverExisted() *hits {
	h := &hits{}
	for _, r := range b.receipts {
		if r.unit < 1 || r.unit > b.Initial {
			h.add(hit{at: r.done, a: r.op, value: r.unit})
		}
	}
	return h
}

func (b *books) beyond(h hit) history.Evidence {
	op := b.At(int(h.a))
	return history.Evidence{
		Text: fmt.Sprintf("%s sold unit %d to %s, of a stock of %d", op.Instance, h.value, order(b.Cell, op), b.Initial),
		Unit: h.value, Orders: []string{op.Order}, Instances: []string{op.Instance}, At: []history.Instant{op.Done},
	}
}

// orderly is how much the client's clock may be wrong so that its times tell what came first.
const orderly = history.Instant(100 * time.Millisecond)

// wrongRefusals returns the orders that were told that the stock does not suffice when it must have, and how many were
// shown to be told so rightly. Whatever was left when an order was refused, it was at least what all orders had not
// taken that were sent by then, those of unknown outcome included. Where the client's clock may have been set, that is
// all of them.
func (b *books) wrongRefusals() (h *hits, checked int) {
	slices.SortFunc(b.sends, func(x, y send) int { return cmp.Compare(x.sent, y.sent) })
	slices.SortFunc(b.refusals, func(x, y refusal) int {
		return cmp.Or(cmp.Compare(x.done, y.done), cmp.Compare(x.op, y.op))
	})
	h = &hits{}
	off, timed := 4*b.error, b.error <= orderly
	next, left := 0, b.Initial
	for _, r := range b.refusals {
		for next < len(b.sends) && (!timed || !r.done.Known() || b.sends[next].sent <= r.done+off) {
			left -= b.sends[next].quantity
			next++
		}
		if left >= r.quantity {
			h.add(hit{at: r.done, a: r.op, value: left})
			continue
		}
		checked++
	}
	return h, checked
}

func (b *books) wrongRefusal(h hit) history.Evidence {
	op := b.At(int(h.a))
	return history.Evidence{
		Text: fmt.Sprintf("%s refused %s at %s, which wanted %d, although at least %d of %d were left",
			instance(b.Cell, op), order(b.Cell, op), op.Done, op.Quantity, h.value, b.Initial),
		Orders: []string{op.Order}, Instances: []string{op.Instance}, At: []history.Instant{op.Done},
	}
}
