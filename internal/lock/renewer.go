package lock

import (
	"context"
	"errors"
	"time"
)

// retriesPerRenewal is how often an indeterminate renewal is retried before the next one would be due.
const retriesPerRenewal = 5

// keepAlive renews a lease at that interval, on v5.5 and every rung with a lease above it. It returns the context to
// work under, and a stop that ends the renewing. Call stop before the release.
//
// The lease counts as alive until validUntil. Each successful renewal moves that to its own start + TTL − drift, by the
// monotonic clock: from the start, because Redis counts from a later instant. A renewal that returns false ends the
// lease at once. A renewal that fails (by a timeout, or a lost connection) is indeterminate, and is retried until the
// lease may have expired. Then the context is cancelled with the cause ErrLost; see [leaseContext] for when that can be
// seen. With NoRenew nothing is renewed, and the context ends at validUntil.
func (rt *runtime) keepAlive(
	ctx context.Context, o Options, every time.Duration, validUntil time.Time,
	renew func(ctx context.Context) (bool, error),
) (context.Context, func()) {
	work := newLeaseContext(ctx, validUntil)
	if o.NoRenew {
		expired := time.AfterFunc(time.Until(validUntil), func() { work.lose(ErrLost) })
		return work, func() {
			expired.Stop()
			work.lose(context.Canceled)
		}
	}
	first := time.Until(earlier(time.Now().Add(every), validUntil))
	renewing := rt.later(ctx, first, func(run context.Context) {
		validUntil := validUntil
		for due := time.Now(); sleepUntil(run, earlier(due, validUntil)); {
			start := time.Now()
			if !start.Before(validUntil) {
				work.lose(ErrLost)
				return
			}
			ok, err := rt.awaitRenewal(run, validUntil, renew)
			if err != nil && run.Err() != nil { // released meanwhile
				return
			}
			ok, err = rt.reportRenewal(ok, err)
			switch {
			case errors.Is(err, ErrExhausted):
				work.lose(err)
				return
			case err != nil:
				due = start.Add(every / retriesPerRenewal)
			case !ok:
				work.lose(ErrLost)
				return
			default:
				validUntil = start.Add(o.TTL - drift(o.TTL))
				due = start.Add(every)
				if !work.extend(validUntil) {
					return
				}
			}
		}
	})
	return work, func() {
		renewing.stop()
		work.lose(context.Canceled)
	}
}

// joinTime limits how long a release waits for a renewal in flight.
const joinTime = 50 * time.Millisecond

// awaitRenewal returns the result of a renewal, or an error when the deadline has passed or run has ended. A Redis
// client does not end a command when its context is cancelled, only at a deadline. So a release that waited for the
// renewal could take as long as the client's timeout. It waits for joinTime instead, which is longer than a usual reply
// takes. The renewal may still be executed after the release, but then its owner no longer holds the lock.
func (rt *runtime) awaitRenewal(
	run context.Context, deadline time.Time, renew func(context.Context) (bool, error),
) (bool, error) {
	type answer struct {
		ok  bool
		err error
	}
	one, done := context.WithDeadline(context.WithoutCancel(run), deadline)
	defer done()
	answers := make(chan answer, 1)
	rt.Background.Go(func() {
		ok, err := renew(one)
		answers <- answer{ok, err}
	})
	unhook := context.AfterFunc(run, func() { time.AfterFunc(joinTime, done) })
	defer unhook()
	select {
	case a := <-answers:
		return a.ok, a.err
	case <-one.Done():
		return false, one.Err()
	}
}

// atMost limits renew to n successes. The renewal after those returns ErrExhausted.
func atMost(n int, renew func(context.Context) (bool, error)) func(context.Context) (bool, error) {
	return func(ctx context.Context) (bool, error) {
		if n == 0 {
			return false, ErrExhausted
		}
		ok, err := renew(ctx)
		if ok && err == nil {
			n--
		}
		return ok, err
	}
}

// drift returns how much earlier than Redis a holder counts its lease as expired, because their clocks run at slightly
// different speeds (Redlock, "Is the algorithm asynchronous?"). It is a share of the TTL plus the granularity of Redis'
// expiry. One per cent is the usual share. This one is larger, because cancelling the work takes time too: a busy
// process may notice some milliseconds late.
func drift(ttl time.Duration) time.Duration { return ttl/20 + 2*time.Millisecond }

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// sleepUntil returns true at t, or false as soon as ctx ends. If both hold, it returns false: no renewal is sent after
// the stop.
func sleepUntil(ctx context.Context, t time.Time) bool {
	timer := time.NewTimer(time.Until(t))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return ctx.Err() == nil
	}
}
