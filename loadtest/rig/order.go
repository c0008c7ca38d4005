package rig

import (
	"context"
	"time"

	"stockapi/loadtest/history"
	"stockapi/loadtest/wire"
)

// An InFlight is an order on its way to an instance.
type InFlight struct {
	At   int        // the number of the instance
	Sent time.Time  // zero: not yet
	Op   history.Op // valid once the order has ended

	id     string
	hangUp context.CancelFunc
	done   chan struct{}
}

// NewInFlight returns an order with that id in histories. It has not been sent yet.
func NewInFlight(id string, at int) *InFlight {
	return &InFlight{At: at, id: id, hangUp: func() {}, done: make(chan struct{})}
}

// Send sends the order by calling buy in the background. Buy must return when the order has ended.
func (o *InFlight) Send(ctx context.Context, buy func(context.Context) history.Op) {
	ctx, o.hangUp = context.WithCancel(ctx)
	o.Sent = time.Now()
	go func() {
		defer o.hangUp()
		defer close(o.done)
		o.Op = buy(ctx)
	}()
}

// Done is closed when the order has ended, answered or not.
func (o *InFlight) Done() <-chan struct{} { return o.done }

// HasEnded reports whether the order has ended.
func (o *InFlight) HasEnded() bool { return wire.IsClosed(o.done) }

// WaitFor waits until the order has ended, for atMost.
func (o *InFlight) WaitFor(atMost time.Duration) {
	select {
	case <-o.done:
	case <-time.After(atMost):
	}
}

// IsUnderWay reports whether the order was sent and has not ended.
func (o *InFlight) IsUnderWay() bool { return !o.Sent.IsZero() && !o.HasEnded() }

// HangUp makes the order's caller leave, and returns when the order has ended. It must have been sent.
func (o *InFlight) HangUp() {
	o.hangUp()
	<-o.done
}

// Note records in a cell that a fault affected the order between two times.
func (o *InFlight) Note(c *history.Cell, f history.Fault, begun, ended time.Time) {
	f.Order, f.Instance = o.id, c.Instances[o.At].Name
	f.At, f.End = history.At(c.Start, begun), history.At(c.Start, ended)
	c.Faults = append(c.Faults, f)
}
