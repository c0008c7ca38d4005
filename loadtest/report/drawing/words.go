package drawing

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"stockapi/loadtest/history"
	"stockapi/loadtest/report/terminal"
)

// signs are the CSS classes of violations, for their colours and marks.
var signs = map[history.Severity]string{
	history.StockBroken: "stock-broken", history.LockBroken: "lock-broken", history.Stuck: "stuck",
	history.OutOfTurn: "unfair", history.WokeAll: "unfair",
}

// whatHappened describes a broken verdict in a few words.
func whatHappened(f history.Finding) string {
	if first := evidenceOf(f); f.Verdict == history.Stock && len(first.Orders) > 1 {
		return fmt.Sprintf("unit %d was sold twice", first.Unit)
	}
	return terminal.Happenings[f.Verdict]
}

// named returns the name of an order: "Anna", "order 12", or its purpose.
func named(c *history.Cell, op *history.Op) string {
	switch short := c.Short(op.Order); {
	case strings.HasPrefix(short, "opening-"):
		return "opening order"
	case strings.HasPrefix(short, "probe-"):
		return "fresh request"
	}
	return nameOf(c, op)
}

// nameOf returns "Anna" or "order 12", even if the order has a purpose.
func nameOf(c *history.Cell, op *history.Op) string { return clip(c.OrderName(op.Order), 30) }

// does returns the outcome of an order as a predicate, such as "sells unit #", where # is its first unit. First is the
// evidence of the first violation.
func does(c *history.Cell, op *history.Op, first history.Evidence) string {
	does := map[history.Outcome]string{
		history.Busy: "finds the lock busy", history.Refused: "is refused", history.NotSold: "does not sell",
		history.NotSent: "was not sent", history.Unknown: "has an unknown outcome",
	}[op.Outcome]
	switch n := len(op.Units); {
	case op.Outcome != history.Sold:
	case op.Phase == history.Reading:
		does = "reads the stock"
	case n == 0:
		does = "sells"
	case n > 1:
		does = fmt.Sprintf("sells units # to %d", op.Units[n-1])
	default:
		does = "sells unit #"
		if len(first.Orders) > 1 && first.Orders[0] != op.Order && op.Units[0] == first.Unit && op.Done.Known() {
			does += " again"
		}
	}
	by := ""
	if op.SoldBy != "" && op.Lease == nil { // it was served under another order's lease
		by = ", by " + clip(c.OrderName(op.SoldBy), 30)
	}
	return cmp.Or(does, clip(string(op.Outcome), 12)) + by
}

// faultsOf returns the faults of an order: those of its trace, in the client's words if the client noted them; without
// a trace, or if its process was stopped or killed, those that the client noted.
func faultsOf(c *history.Cell, op *history.Op) []history.Fault {
	var traced, noted []history.Fault
	for i := range op.Trace {
		if cmd := &op.Trace[i]; cmd.Fault() {
			traced = append(traced, history.Fault{Order: op.Order, Instance: op.Instance, Text: describePoint(cmd.Key),
				At: cmd.At, End: cmd.End})
		}
	}
	for _, f := range c.Faults {
		if f.Order == op.Order && f.On == "" {
			noted = append(noted, f)
		}
	}
	ofProcess := func(f history.Fault) bool { return f.Kind == history.FaultStop || f.Kind == history.FaultKill }
	if len(traced) == 0 || slices.ContainsFunc(noted, ofProcess) {
		return noted
	}
	for i := range min(len(traced), len(noted)) {
		traced[i].Text = noted[i].Text
	}
	return traced
}

// describePoint returns the words for a point of a fault, such as "hold@before:set/stock".
func describePoint(point string) string {
	action, at, found := strings.Cut(point, "@")
	if !found {
		return point
	}
	done := map[string]string{"hold": "held", "work": "at work"}[action]
	return cmp.Or(done, action) + " " + strings.Replace(at, ":", " ", 1)
}
