package porcupine

import (
	"fmt"
	"math"
	"slices"

	"stockapi/loadtest/history"
)

// The stock is a number of units, which sales take from the top: what is left is the serial number of the next unit.

// notCounted is the state before anybody has counted the stock.
const notCounted state = math.MinInt64

func unitsLeft(s state) string { return fmt.Sprintf("%d left", s) }

// saleOf returns the operation of an order that sold. It is legal if its units are the next ones.
func saleOf(c *history.Cell, op *history.Op, t times) *operation {
	low, high := unitRange(op)
	next := high-low+1 == int64(len(op.Units)) && low >= 1
	return &operation{
		span: t.of(op), op: op, text: orderOn(c, op) + ": sold " + units(op), more: details(op),
		step: func(left state) (state, bool) { return low - 1, next && left == high },
	}
}

// refusalOf returns the operation of an order that was refused because too few units were left.
func refusalOf(c *history.Cell, op *history.Op, t times) *operation {
	return &operation{
		span: t.of(op), op: op, more: details(op),
		text: fmt.Sprintf("%s: refused, less than %d left", orderOn(c, op), op.Quantity),
		step: func(left state) (state, bool) { return left, left < op.Quantity },
	}
}

// unknownSaleOf returns the operation of an order whose outcome is unknown. It has no end: if the order never sold, it
// can come after all others, where it changes nothing.
func unknownSaleOf(c *history.Cell, op *history.Op, s span) *operation {
	return &operation{
		span: s, op: op, text: orderOn(c, op) + ": outcome unknown", more: details(op),
		step: func(left state) (state, bool) {
			if left >= op.Quantity {
				left -= op.Quantity
			}
			return left, true
		},
	}
}

// stockCount returns a count of the whole stock. The first one sets the state, each later one has to agree with it.
func stockCount(n int64, s span, more string) *operation {
	return &operation{
		span: s, text: fmt.Sprintf("%d units", n), more: []string{more},
		step: func(left state) (state, bool) { return n, left == n || left == notCounted },
	}
}

// unitRange returns the lowest and the highest unit of a sale.
func unitRange(op *history.Op) (low, high int64) {
	if len(op.Units) == 0 { // as only a forged history has it
		return 0, 0
	}
	return slices.Min(op.Units), slices.Max(op.Units)
}

func units(op *history.Op) string {
	low, high := unitRange(op)
	if low == high {
		return fmt.Sprintf("unit %d", low)
	}
	return fmt.Sprintf("units %d to %d", low, high)
}
