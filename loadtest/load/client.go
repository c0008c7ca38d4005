package load

import (
	"math"
	"slices"
	"time"

	"stockapi/loadtest/history"
)

// maxErrors bounds how many kinds of errors are counted separately.
const maxErrors = 16

// ClientOf returns the client's own figures: how many orders it sent, how late, and how long each took after it was
// sent.
func ClientOf(ops []history.Op) *history.Client {
	c, _ := figures(ops)
	return c
}

// figures returns the client's figures, and the latency from when each order was due.
func figures(ops []history.Op) (*history.Client, history.Latency) {
	c := &history.Client{Asked: len(ops)}
	lag, latency, fromSent := newHistogram(), newHistogram(), newHistogram()
	first, last := history.Instant(math.MaxInt64), history.Instant(math.MinInt64)
	for i := range ops {
		op := &ops[i]
		if op.Outcome == history.NotSent {
			countError(c, op.Detail)
			continue
		}
		c.Delivered++
		late := max(0, time.Duration(op.Sent-op.Due))
		lag.record(late)
		latency.record(op.Latency)
		if op.Phase == history.Buy {
			fromSent.record(op.Latency - late)
		}
		first, last = min(first, op.Sent), max(last, op.Sent)
	}
	if c.Delivered > 1 && last > first {
		c.Rate = float64(c.Delivered-1) / time.Duration(last-first).Seconds()
	}
	c.Lag, c.FromSent = lag.summary().P99, fromSent.summary()
	return c, latency.summary()
}

// started returns when the first workers orders had been sent.
func started(ops []history.Op, workers int) history.Instant {
	var sent []history.Instant
	for i := range ops {
		if ops[i].Outcome != history.NotSent {
			sent = append(sent, ops[i].Sent)
		}
	}
	slices.Sort(sent)
	if n := min(workers, len(sent)); n > 0 {
		return sent[n-1]
	}
	return 0
}

// countError counts an unsent order by its reason.
func countError(c *history.Client, why string) {
	if c.Errors == nil {
		c.Errors = map[string]int{}
	}
	if _, known := c.Errors[why]; !known && len(c.Errors) >= maxErrors {
		why = "others"
	}
	c.Errors[why]++
}
