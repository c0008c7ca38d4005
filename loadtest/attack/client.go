package attack

import (
	"math"
	"slices"
	"sync"
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
	a := newAccount()
	for i := range ops {
		a.add(&ops[i])
	}
	return a.client(len(ops))
}

// account is what the client saw of itself so far, order by order.
type account struct {
	mu            sync.Mutex
	c             history.Client
	lag, fromSent *stopwatch
	first, last   history.Instant
	earliest      []history.Instant // when the first orders were sent, at most maxWorkers
}

// maxWorkers is how many orders may be the first ones of their workers.
const maxWorkers = 5000

func newAccount() *account {
	return &account{
		lag: newStopwatch(), fromSent: newStopwatch(),
		first: history.Instant(math.MaxInt64), last: history.Instant(math.MinInt64),
	}
}

func (a *account) add(op *history.Op) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if op.Outcome == history.NotSent {
		lacked(&a.c, op.Detail)
		return
	}
	a.c.Delivered++
	late := max(0, time.Duration(op.Sent-op.Due))
	a.lag.record(late)
	if op.Phase == history.Buy {
		a.fromSent.record(op.Latency - late)
	}
	a.first, a.last = min(a.first, op.Sent), max(a.last, op.Sent)
	if len(a.earliest) < maxWorkers {
		a.earliest = append(a.earliest, op.Sent)
	}
}

// started is when so many orders had been sent, of those that were answered first.
func (a *account) started(workers int) history.Instant {
	slices.Sort(a.earliest)
	if n := min(workers, len(a.earliest)); n > 0 {
		return a.earliest[n-1]
	}
	return 0
}

// client returns what became of that many orders.
func (a *account) client(asked int) *history.Client {
	c := a.c
	c.Asked = asked
	if c.Delivered > 1 && a.last > a.first {
		c.Rate = float64(c.Delivered-1) / time.Duration(a.last-a.first).Seconds()
	}
	c.Lag, c.FromSent = merge([]*stopwatch{a.lag}).P99, merge([]*stopwatch{a.fromSent})
	return &c
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
