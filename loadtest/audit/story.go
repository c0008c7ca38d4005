package audit

import (
	"fmt"
	"strings"

	"stockapi/loadtest/history"
)

// Story returns the first violation of a cell in one line: a unit sold twice if there is one, since a shop notices
// that, or else the first verdict that is broken. It is empty if none is.
func Story(findings []history.Finding) string {
	for _, f := range findings {
		if f.Result == history.Broken {
			return f.Because
		}
	}
	return ""
}

// Remark returns how many waiters a release woke if that was no herd, for comparison. It is empty if that was not
// asked.
func Remark(findings []history.Finding) string {
	if f := history.FindingOf(findings, history.Herd); f.Result == history.OK {
		return f.Because
	}
	return ""
}

func soldTwiceText(c *history.Cell, unit int64, first, again *history.Op) string {
	return fmt.Sprintf("%s sold unit %d to %s at %s; %s sold unit %d again to %s at %s",
		instance(c, first), unit, order(c, first), first.Done,
		instance(c, again), unit, order(c, again), again.Done)
}

// instance returns the name of an order's instance, with the fault that the order had there.
func instance(c *history.Cell, op *history.Op) string {
	for _, f := range c.Faults {
		if f.Order == op.Order {
			return op.Instance + ", " + f.Text + ","
		}
	}
	return op.Instance
}

// before lists all faults of the cell, as the beginning of a sentence about their effect.
func before(c *history.Cell) string {
	var text strings.Builder
	for _, f := range c.Faults {
		fmt.Fprintf(&text, "order %s on %s, %s at %s: ", c.Short(f.Order), f.Instance, f.Text, f.At)
	}
	return text.String()
}

// order returns a short name of an order.
func order(c *history.Cell, op *history.Op) string { return "order " + c.Short(op.Order) }
