package explain

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"stockapi/loadtest/history"
)

// The stock is a number of units, which sales take from the top: what is left is the serial number of the next unit.

// uncounted is the state before anybody has counted the stock.
const uncounted state = math.MinInt64

func unitsLeft(s state) string { return fmt.Sprintf("%d left", s) }

// sale is an order that says which units it sold. They have to be the next ones.
func sale(c *history.Cell, op *history.Op, t times) *act {
	low, high, adjoin := run(op.Units)
	return &act{
		span: t.of(op), op: op, text: who(c, op) + ": sold " + units(op), more: details(op),
		step: func(left state) (state, bool) { return low - 1, adjoin && low >= 1 && left == high },
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

// run returns the lowest and the highest of some units, and whether they are all that lie between.
func run(us []int64) (low, high int64, adjoin bool) {
	sorted := slices.Sorted(slices.Values(us))
	if len(sorted) == 0 {
		return 0, 0, false
	}
	for i := 1; i < len(sorted); i++ {
		if sorted[i] != sorted[i-1]+1 {
			return sorted[0], sorted[len(sorted)-1], false
		}
	}
	return sorted[0], sorted[len(sorted)-1], true
}

func units(op *history.Op) string {
	low, high, adjoin := run(op.Units)
	switch {
	case len(op.Units) == 1:
		return fmt.Sprintf("unit %d", low)
	case adjoin:
		return fmt.Sprintf("units %d to %d", low, high)
	default:
		return "units " + strings.Trim(fmt.Sprint(op.Units[:min(len(op.Units), 5)]), "[]")
	}
}
