package lock

import (
	"context"
	"errors"
	"sync/atomic"
	"time"
)

// A leaseContext is the context of the work under a lease. It answers from the clock at every look: a process that was
// stopped in the middle of its work, and goes on after its lease has ended, may look before the goroutine that renews
// the lease gets to run. Who finds the time over ends the context, so that Err, Done and [context.Cause] agree.
//
// A context made from it by [context.WithCancel] keeps an Err of its own, and hears of the end when this one is asked or
// the renewing goroutine runs. The clock is the monotonic one, which on Linux stands still while the machine is
// suspended: after that, only the next renewal tells.
type leaseContext struct {
	context.Context // ends by lose, or with the caller's
	lose            context.CancelCauseFunc
	caller          context.Context // may be that of an outer lease, and has to be asked too
	validUntil      atomic.Pointer[time.Time]
}

func newLeaseContext(caller context.Context, validUntil time.Time) *leaseContext {
	c := &leaseContext{caller: caller}
	c.Context, c.lose = context.WithCancelCause(caller)
	c.validUntil.Store(&validUntil)
	return c
}

// Err is part of [context.Context].
func (c *leaseContext) Err() error {
	switch {
	case c.Context.Err() != nil:
	case c.caller.Err() != nil:
		c.lose(context.Cause(c.caller))
	case !time.Now().Before(*c.validUntil.Load()):
		c.lose(ErrLost)
	}
	return c.Context.Err()
}

// Done is part of [context.Context]. What it returns is closed when the time is over by now.
func (c *leaseContext) Done() <-chan struct{} {
	_ = c.Err()
	return c.Context.Done()
}

// extend moves the end of the lease, and returns false if the lease was lost by then: it does not come back.
func (c *leaseContext) extend(until time.Time) bool {
	if errors.Is(context.Cause(c), ErrLost) {
		return false
	}
	c.validUntil.Store(&until)
	return true
}
