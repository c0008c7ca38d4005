package load

import (
	"math"
	"slices"
	"sync"
	"time"

	"stockapi/loadtest/history"
)

// maxErrors bounds how many kinds of errors are counted separately.
const maxErrors = 16

// ClientOf returns the client's figures, from its orders: how many it sent, how late, and how long each took from when
// it was sent.
func ClientOf(ops []history.Op) *history.Client {
	a := newClientStats()
	for i := range ops {
		a.add(&ops[i])
	}
	return a.client(len(ops))
}

// clientStats collects the client's figures, order by order.
type clientStats struct {
	mu sync.Mutex
	c  history.Client
	// lag has the delays between the due times of orders and their sending; latency counts from the due times, and
	// fromSent from the sending.
	lag, latency, fromSent *histogram
	first, last            history.Instant
	earliest               []history.Instant // when the first orders were sent, at most maxWorkers of them
}

// maxWorkers bounds how many orders can be the first ones of their workers.
const maxWorkers = 5000

func newClientStats() *clientStats {
	return &clientStats{
		lag: newHistogram(), fromSent: newHistogram(), latency: newHistogram(),
		first: history.Instant(math.MaxInt64), last: history.Instant(math.MinInt64),
	}
}

func (a *clientStats) add(op *history.Op) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if op.Outcome == history.NotSent {
		countError(&a.c, op.Detail)
		return
	}
	a.c.Delivered++
	late := max(0, time.Duration(op.Sent-op.Due))
	a.lag.record(late)
	a.latency.record(op.Latency)
	if op.Phase == history.Buy {
		a.fromSent.record(op.Latency - late)
	}
	a.first, a.last = min(a.first, op.Sent), max(a.last, op.Sent)
	if len(a.earliest) < maxWorkers {
		a.earliest = append(a.earliest, op.Sent)
	}
}

// started returns when that many orders had been sent, of those that were answered first.
func (a *clientStats) started(workers int) history.Instant {
	slices.Sort(a.earliest)
	if n := min(workers, len(a.earliest)); n > 0 {
		return a.earliest[n-1]
	}
	return 0
}

// client returns the figures of that many orders.
func (a *clientStats) client(asked int) *history.Client {
	c := a.c
	c.Asked = asked
	if c.Delivered > 1 && a.last > a.first {
		c.Rate = float64(c.Delivered-1) / time.Duration(a.last-a.first).Seconds()
	}
	c.Lag, c.FromSent = a.lag.summary().P99, a.fromSent.summary()
	return &c
}

// countError counts an order that was not sent, by its reason.
func countError(c *history.Client, why string) {
	if c.Errors == nil {
		c.Errors = map[string]int{}
	}
	if _, known := c.Errors[why]; !known && len(c.Errors) >= maxErrors {
		why = "others"
	}
	c.Errors[why]++
}
