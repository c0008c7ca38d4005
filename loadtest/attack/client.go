package attack

import (
	"math"
	"time"

	"stockapi/loadtest/history"
)

// maxErrors bounds how many kinds of errors are told apart.
const maxErrors = 16

// Loop names the kind of loop that a plan makes.
func (p Plan) loop() string {
	if p.Rate > 0 {
		return "open"
	}
	return "closed"
}

// ClientOf counts what the client sent, and by how much it was late, and how long the orders took from when each was sent.
func ClientOf(ops []history.Op) *history.Client {
	c := &history.Client{Asked: len(ops)}
	lag, fromSent := newStopwatch(), newStopwatch()
	first, last := history.Instant(math.MaxInt64), history.Instant(math.MinInt64)
	for i := range ops {
		op := &ops[i]
		if op.Outcome == history.NotSent {
			lacked(c, op.Detail)
			continue
		}
		c.Delivered++
		late := max(0, time.Duration(op.Sent-op.Due))
		lag.record(late)
		if op.Phase == history.Buy {
			fromSent.record(op.Latency - late)
		}
		first, last = min(first, op.Sent), max(last, op.Sent)
	}
	if c.Delivered > 1 && last > first {
		c.Rate = float64(c.Delivered-1) / time.Duration(last-first).Seconds()
	}
	c.Lag, c.FromSent = merge([]*stopwatch{lag}).P99, merge([]*stopwatch{fromSent})
	return c
}

// lacked counts an order that was not sent for that reason.
func lacked(c *history.Client, why string) {
	if c.Errors == nil {
		c.Errors = map[string]int{}
	}
	if _, known := c.Errors[why]; !known && len(c.Errors) >= maxErrors {
		why = "others"
	}
	c.Errors[why]++
}
