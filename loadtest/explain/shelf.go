package explain

import (
	"fmt"
	"math"
	"slices"

	"stockapi/loadtest/history"
)

// The stock is a number of units, which sales take from the top: what is left is the serial number of the next unit.

// uncounted is the state before anybody has counted the stock.
const uncounted state = math.MinInt64

func unitsLeft(s state) string { return fmt.Sprintf("%d left", s) }

// sale is an order that says which units it sold. They have to be the next ones.
func sale(c *history.Cell, op *history.Op, t times) *act {
	low, high := ends(op)
	next := high-low+1 == int64(len(op.Units)) && low >= 1
	return &act{
		span: t.of(op), op: op, text: who(c, op) + ": sold " + units(op), more: details(op),
		step: func(left state) (state, bool) { return low - 1, next && left == high },
	}
}

// refusal is an order that was told that there is less left than it wanted.
func refusal(c *history.Cell, op *history.Op, t times) *act {
	return &act{
		span: t.of(op), op: op, text: fmt.Sprintf("%s: refused, less than %d left", who(c, op), op.Quantity), more: details(op),
		step: func(left state) (state, bool) { return left, left < op.Quantity },
	}
}

// perhaps is an order of which nobody knows whether it sold. It is asked about like any other, but without an end: what
// never happened is put behind everything else, where it is in nobody's way.
func perhaps(c *history.Cell, op *history.Op, s span) *act {
	return &act{
		span: s, op: op, text: who(c, op) + ": outcome unknown", more: details(op),
		step: func(left state) (state, bool) {
			if left >= op.Quantity {
				left -= op.Quantity
			}
			return left, true
		},
	}
}

// count is a look at the whole stock, of which nothing was known before the first.
func count(n int64, s span, more string) *act {
	return &act{
		span: s, text: fmt.Sprintf("%d units", n), more: []string{more},
		step: func(left state) (state, bool) { return n, left == n || left == uncounted },
	}
}

// ends returns the lowest and the highest unit of a sale.
func ends(op *history.Op) (low, high int64) {
	if len(op.Units) == 0 { // as only a forged history has it
		return 0, 0
	}
	return slices.Min(op.Units), slices.Max(op.Units)
}

func units(op *history.Op) string {
	low, high := ends(op)
	if low == high {
		return fmt.Sprintf("unit %d", low)
	}
	return fmt.Sprintf("units %d to %d", low, high)
}
