package audit

import (
	"cmp"
	"fmt"
	"strings"

	"stockapi/loadtest/history"
)

// Story returns the first violation of a cell in one line: a unit sold twice if there is one, since a shop notices
// that, else the first broken verdict. It is "" if none is broken.
func Story(findings []history.Finding) string { return history.FirstBroken(findings).Because }

// Remark returns how many waiters a release woke if that was no herd, for comparison; "" if herd was not judged.
func Remark(findings []history.Finding) string {
	if f := history.FindingOf(findings, history.Herd); f.Result == history.OK {
		return f.Because
	}
	return ""
}

// instance returns the name of an order's instance, with the fault that was injected into the order there.
func instance(c *history.Cell, op *history.Op) string {
	name := cmp.Or(op.Instance, "an instance without a name")
	for _, f := range c.Faults {
		if f.Order == op.Order {
			return name + ", " + f.Text + ","
		}
	}
	return name
}

// before lists the faults of the cell, as the beginning of a sentence about their effect.
func before(c *history.Cell) string {
	var text strings.Builder
	for _, f := range c.Faults {
		fmt.Fprintf(&text, "%s on %s, %s at %s: ", c.OrderName(f.Order), f.Instance, f.Text, f.At)
	}
	return text.String()
}

// order returns the name of an order.
func order(c *history.Cell, op *history.Op) string { return c.OrderName(op.Order) }
