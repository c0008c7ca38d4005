package lock

import (
	"context"
	"errors"
	"sync/atomic"
	"time"
)

// A leaseContext is the context of the work under a lease. Each call checks the clock: a process that was paused, and
// goes on after its lease has expired, may call it before the goroutine that renews the lease runs. The first call that
// finds the lease expired ends the context, so that Err, Done and [context.Cause] agree.
//
// A context derived from it by [context.WithCancel] has an Err of its own. It ends when a method of this context is
// called, or when the renewing goroutine runs. The clock is the monotonic one, which on Linux stops while the machine
// is suspended. After a suspension only the next renewal finds the loss.
type leaseContext struct {
	context.Context // ends by lose, or with the caller's context
	lose            context.CancelCauseFunc
	caller          context.Context            // may be that of an outer lease, so it is checked too
	validUntil      *atomic.Pointer[time.Time] // own, or that of a lease that is shared
	own             atomic.Pointer[time.Time]
}

func newLeaseContext(caller context.Context, validUntil time.Time) *leaseContext {
	c := &leaseContext{caller: caller}
	c.validUntil = &c.own
	c.Context, c.lose = context.WithCancelCause(caller)
	c.validUntil.Store(&validUntil)
	return c
}

// share returns a context for one of several holders that share the lease one after the other. It ends with the lease,
// or with ctx. Call leave when the holder is done.
func (c *leaseContext) share(ctx context.Context) (work *leaseContext, leave func()) {
	work = &leaseContext{caller: ctx, validUntil: c.validUntil}
	work.Context, work.lose = context.WithCancelCause(ctx)
	unhook := context.AfterFunc(c, func() { work.lose(context.Cause(c)) })
	return work, func() {
		unhook()
		work.lose(context.Canceled)
	}
}

// Err implements [context.Context].
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

// Done implements [context.Context]. Its channel is closed already if the lease has expired.
func (c *leaseContext) Done() <-chan struct{} {
	_ = c.Err()
	return c.Context.Done()
}

type leaseKey struct{}

// Value implements [context.Context]. With a leaseKey it returns the lease itself, also from a context derived from it.
func (c *leaseContext) Value(key any) any {
	if key == (leaseKey{}) {
		return c
	}
	return c.Context.Value(key)
}

// leaseOf returns the innermost lease that ctx belongs to, or nil.
func leaseOf(ctx context.Context) *leaseContext {
	c, _ := ctx.Value(leaseKey{}).(*leaseContext)
	return c
}

// ValidUntil returns when the lease expires if it is not renewed: its TTL after the acquire began, less the drift. A
// lease inside another one ends with that one at the latest. It returns false if the lease does not expire, and on the
// rungs below v5.5, which do not compute when it does.
func (l *Lease) ValidUntil() (until time.Time, known bool) {
	for c := leaseOf(l.Context); c != nil; c = leaseOf(c.caller) {
		end := *c.validUntil.Load()
		if !known || end.Before(until) {
			until, known = end, true
		}
	}
	return until, known
}

// extend moves the expiry of the lease. It returns false if the lease is lost already: a lost lease stays lost.
func (c *leaseContext) extend(until time.Time) bool {
	if errors.Is(context.Cause(c), ErrLost) {
		return false
	}
	c.validUntil.Store(&until)
	return true
}
