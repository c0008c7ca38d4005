package audit

import (
	"time"

	"stockapi/loadtest/history"
)

// Next returns how long the first order took that was sent once the fault was there, by somebody to whom it did not
// happen, and whether it got through. Where the scenario sends none, the fresh requests at its end are meant, all
// together: see [Recovery].
func Next(c *history.Cell) (took time.Duration, through bool) {
	var next *history.Op
	for i := range c.Ops {
		op := &c.Ops[i]
		if op.Phase == history.Buy && afterFault(c, op) && op.Done.Known() && (next == nil || op.Sent < next.Sent) {
			next = op
		}
	}
	if next == nil {
		return Recovery(c)
	}
	return time.Duration(next.Done - next.Sent), next.Outcome == history.Sold || next.Outcome == history.Refused
}

// afterFault reports whether the order was sent after the first fault, and was not struck by any itself.
func afterFault(c *history.Cell, op *history.Op) bool {
	for _, f := range c.Faults {
		if op.Order == f.Order || op.Sent < f.At {
			return false
		}
	}
	return len(c.Faults) > 0
}
