package audit

import (
	"time"

	"stockapi/loadtest/history"
)

// Next returns how long the first order took that was sent after the fault and had no fault itself, and whether it got
// through. If the scenario sends no such order, it is about the fresh requests at its end: see [Recovery].
func Next(c *history.Cell) (took time.Duration, through bool) {
	next, sent := -1, history.Never
	for i := range c.Ops {
		op := &c.Ops[i]
		if op.Phase == history.Buy && op.Sent < sent && op.Done.Known() && afterFault(c, op) {
			next, sent = i, op.Sent
		}
	}
	if next < 0 {
		return Recovery(c)
	}
	op := &c.Ops[next]
	return time.Duration(op.Done - op.Sent), gotThrough(op)
}

// afterFault reports whether the order was sent after the first fault, and had none itself.
func afterFault(c *history.Cell, op *history.Op) bool {
	for _, f := range c.Faults {
		if op.Order == f.Order || op.Sent < f.At {
			return false
		}
	}
	return len(c.Faults) > 0
}
