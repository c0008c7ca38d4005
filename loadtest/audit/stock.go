package audit

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"stockapi/loadtest/history"
)

// stock answers whether sales and stock agree: no unit was sold twice or never existed, no order got more than it asked for or was refused a unit
// that was there, and what is left is what the sales leave. What is left proves nothing by itself: read, decide, write
// never goes below zero.
//
// A unit that an answer of status 200 names is sold, whatever else is wrong with the answer.
func stock(b *books) history.Finding {
	if h := b.soldTwice(); h.total > 0 {
		return h.broken(history.Stock, b.twice)
	}
	if h := b.neverExisted(); h.total > 0 {
		return h.broken(history.Stock, b.beyond)
	}
	if b.surplus.total > 0 {
		return b.surplus.broken(history.Stock, b.tooMany)
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
	if f.Result == history.OK && b.noFaults() && b.sales == 0 && b.Initial > 0 {
		return found(history.Stock, history.Indeterminate, "nothing was sold, so nothing was shown")
	}
	return f
}

// balance compares the units taken from the stock with the units known to be sold.
//
// Even with unknown outcomes one case is certain. To come down to what is left, the stock passed every unit above it,
// so some order took each unit that no answer names. If the orders of unknown outcome wanted exactly as many, and each
// of them sent its write and never saw the reply, then each sold exactly those, and none sold a unit twice. An order
// that shows no such write may have sold nothing, while a unit was lost.
func (b *books) balance() history.Finding {
	if b.Left == nil {
		return found(history.Stock, history.Indeterminate, "the stock could not be read at the end")
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
		return found(history.Stock, history.Indeterminate,
			"%d units are of unknown outcome: they may be others' units sold again", b.open)
	case b.unexplained > 0:
		return found(history.Stock, history.Indeterminate,
			"%d units are of unknown outcome and as many are gone, but no write without a reply shows for %d of them: "+
				"one may have been lost and another not sold",
			b.open, b.unexplained)
	}
	return history.Finding{Verdict: history.Stock, Result: history.OK}
}

// soldTwice returns each receipt for a unit that already has one.
func (b *books) soldTwice() *violations {
	slices.SortFunc(b.receipts, func(x, y receipt) int {
		return cmp.Or(cmp.Compare(x.unit, y.unit), cmp.Compare(x.done, y.done), cmp.Compare(x.op, y.op))
	})
	h := &violations{}
	first := 0
	for i := 1; i < len(b.receipts); i++ {
		if b.receipts[i].unit != b.receipts[first].unit {
			first = i
			continue
		}
		r := b.receipts[i]
		h.add(violation{at: r.done, a: b.receipts[first].op, b: r.op, value: r.unit})
	}
	return h
}

func (b *books) twice(h violation) history.Evidence {
	before, again := *b.At(int(h.a)), *b.At(int(h.b))
	return history.Evidence{
		Text: soldTwiceText(b.Cell, h.value, &before, &again), Unit: h.value,
		Orders:    []string{before.Order, again.Order},
		Instances: []string{before.Instance, again.Instance},
		At:        []history.Instant{before.Done, again.Done},
	}
}

// neverExisted returns the sales of units beyond the stock: serial numbers run from 1 to the initial stock.
func (b *books) neverExisted() *violations {
	h := &violations{}
	for _, r := range b.receipts {
		if r.unit < 1 || r.unit > b.Initial {
			h.add(violation{at: r.done, a: r.op, value: r.unit})
		}
	}
	return h
}

func (b *books) beyond(h violation) history.Evidence {
	op := b.At(int(h.a))
	return history.Evidence{
		Text: fmt.Sprintf("%s sold unit %d to %s, of a stock of %d", op.Instance, h.value, order(b.Cell, op), b.Initial),
		Unit: h.value, Orders: []string{op.Order}, Instances: []string{op.Instance}, At: []history.Instant{op.Done},
	}
}

func (b *books) tooMany(h violation) history.Evidence {
	op := b.At(int(h.a))
	return history.Evidence{
		Text: fmt.Sprintf("%s sold more units to %s than the %d that it ordered", op.Instance, order(b.Cell, op),
			op.Quantity),
		Orders: []string{op.Order}, Instances: []string{op.Instance}, At: []history.Instant{op.Done},
	}
}

// orderly bounds the error of the client's clock up to which its times tell which order came first.
const orderly = history.Instant(100 * time.Millisecond)

// wrongRefusals returns the orders that were told that the stock is too small when it cannot have been, and how many
// refusals were shown to be right. When an order was refused, at least that much was left which all orders sent by then
// had not taken, those of unknown outcome included. If the client's clock may have been set, all orders count as sent
// by then.
func (b *books) wrongRefusals() (h *violations, checked int) {
	slices.SortFunc(b.sends, func(x, y send) int { return cmp.Compare(x.sent, y.sent) })
	slices.SortFunc(b.refusals, func(x, y refusal) int {
		return cmp.Or(cmp.Compare(x.done, y.done), cmp.Compare(x.op, y.op))
	})
	h = &violations{}
	off, timed := 4*b.error, b.error <= orderly
	next, left := 0, b.Initial
	for _, r := range b.refusals {
		for next < len(b.sends) && (!timed || !r.done.Known() || b.sends[next].sent <= r.done+off) {
			left -= b.sends[next].quantity
			next++
		}
		if left >= r.quantity {
			h.add(violation{at: r.done, a: r.op, value: left})
			continue
		}
		checked++
	}
	return h, checked
}

func (b *books) wrongRefusal(h violation) history.Evidence {
	op := b.At(int(h.a))
	return history.Evidence{
		Text: fmt.Sprintf("%s refused %s at %s, which wanted %d, although at least %d of %d were left",
			instance(b.Cell, op), order(b.Cell, op), op.Done, op.Quantity, h.value, b.Initial),
		Orders: []string{op.Order}, Instances: []string{op.Instance}, At: []history.Instant{op.Done},
	}
}
