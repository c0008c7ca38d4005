package audit

import (
	"cmp"
	"fmt"
	"slices"

	"stockapi/loadtest/history"
)

// sale is one unit of one definite sale.
type sale struct {
	unit int64
	op   *history.Op
}

// Stock answers whether the books balance: no unit was sold twice or never existed, and what is left is what the
// sales leave. The stock that is left proves nothing by itself: read, decide, write never goes below zero.
func Stock(c *history.Cell) history.Finding {
	sales := unitsSold(c)
	if ev := soldTwice(c, sales); len(ev) > 0 {
		return broken(history.Stock, ev, len(ev))
	}
	if ev := neverExisted(c, sales); len(ev) > 0 {
		return broken(history.Stock, ev, len(ev))
	}
	return balance(c, int64(len(sales)), unknownQuantity(c))
}

// balance compares the units taken from the stock with the units known to be sold.
//
// With unknown outcomes there is one case that is certain all the same: to come down to what is left, the stock
// passed every unit above it, so each unit that no answer names was sold by an order that never got its answer.
// If those units are as many as those orders wanted, then each of them sold just that, and none sold twice.
func balance(c *history.Cell, sold, unknown int64) history.Finding {
	if c.Left == nil {
		return found(history.Stock, history.Unclear, "the stock could not be read at the end")
	}
	gone := c.Initial - *c.Left
	switch {
	case gone < sold || gone > sold+unknown:
		text := fmt.Sprintf("%d sold, but the stock went from %d to %d", sold, c.Initial, *c.Left)
		if unknown > 0 {
			text += fmt.Sprintf(", and the %d of unknown outcome do not explain it", unknown)
		}
		return broken(history.Stock, []history.Evidence{{Text: text}}, 1)
	case gone == sold+unknown:
		return found(history.Stock, history.OK, "")
	default:
		return found(history.Stock, history.Unclear, "%d units are of unknown outcome: they may be others' units sold again", unknown)
	}
}

// unitsSold returns every unit of every definite sale, in the order in which the answers came.
func unitsSold(c *history.Cell) []sale {
	var sales []sale
	for i := range c.Ops {
		if op := &c.Ops[i]; op.Outcome == history.Sold {
			for _, u := range op.Units {
				sales = append(sales, sale{u, op})
			}
		}
	}
	slices.SortStableFunc(sales, func(a, b sale) int { return cmp.Compare(a.op.Done, b.op.Done) })
	return sales
}

func unknownQuantity(c *history.Cell) int64 {
	var n int64
	for i := range c.Ops {
		if c.Ops[i].Outcome == history.Unknown {
			n += c.Ops[i].Quantity
		}
	}
	return n
}

// soldTwice returns one piece of evidence per sale of a unit that had been sold already.
func soldTwice(c *history.Cell, sales []sale) []history.Evidence {
	first := map[int64]*history.Op{}
	var ev []history.Evidence
	for _, s := range sales {
		before, again := first[s.unit]
		if !again {
			first[s.unit] = s.op
			continue
		}
		ev = append(ev, history.Evidence{
			Text: twiceInWords(c, s.unit, before, s.op), Unit: s.unit,
			Orders:    []string{before.Order, s.op.Order},
			Instances: []string{before.Instance, s.op.Instance},
			At:        []history.Instant{before.Done, s.op.Done},
		})
	}
	return ev
}

// neverExisted returns the sales of units beyond the stock: serial numbers run from 1 to the initial stock.
func neverExisted(c *history.Cell, sales []sale) []history.Evidence {
	var ev []history.Evidence
	for _, s := range sales {
		if s.unit >= 1 && s.unit <= c.Initial {
			continue
		}
		ev = append(ev, history.Evidence{
			Text: fmt.Sprintf("%s sold unit %d to %s, of a stock of %d", s.op.Instance, s.unit, order(c, s.op), c.Initial),
			Unit: s.unit, Orders: []string{s.op.Order}, Instances: []string{s.op.Instance}, At: []history.Instant{s.op.Done},
		})
	}
	return ev
}
