package audit

import (
	"fmt"
	"strings"

	"stockapi/loadtest/history"
)

// Story tells the first violation of a cell in one line: a unit sold twice if there is one, since that is what a
// shop notices, else whatever else was found broken. It is empty if nothing was.
func Story(findings []history.Finding) string {
	for _, f := range findings {
		if f.Result == history.Broken {
			return f.Because
		}
	}
	return ""
}

// Remark tells how many a release woke where that was no herd, for those who compare. It is empty if nobody asked.
func Remark(findings []history.Finding) string {
	if f := history.FindingOf(findings, history.Herd); f.Result == history.OK {
		return f.Because
	}
	return ""
}

func twiceInWords(c *history.Cell, unit int64, first, again *history.Op) string {
	return fmt.Sprintf("%s sold unit %d to %s at %s; %s sold unit %d again to %s at %s",
		instance(c, first), unit, order(c, first), first.Done,
		instance(c, again), unit, order(c, again), again.Done)
}

// instance names the instance of an order, with what was done to the order there.
func instance(c *history.Cell, op *history.Op) string {
	for _, f := range c.Faults {
		if f.Order == op.Order {
			return op.Instance + ", " + f.Text + ","
		}
	}
	return op.Instance
}

// before tells all that was done in the cell, as the beginning of a sentence about what came of it.
func before(c *history.Cell) string {
	var text strings.Builder
	for _, f := range c.Faults {
		fmt.Fprintf(&text, "order %s on %s, %s at %s: ", c.Short(f.Order), f.Instance, f.Text, f.At)
	}
	return text.String()
}

// order names an order briefly.
func order(c *history.Cell, op *history.Op) string { return "order " + c.Short(op.Order) }
