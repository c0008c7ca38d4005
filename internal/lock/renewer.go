package lock

import (
	"context"
	"errors"
	"sync"
	"time"
)

// retriesPerRenewal is how often a renewal without a clear answer is tried again before the next one would be due.
const retriesPerRenewal = 5

// keepAlive renews a lease for its holder at that interval, for v5.5 and every lease rung after it. It returns the context
// to work under and a stop that ends the renewing; call it before the release.
//
// The lease counts as alive until validUntil, which each successful renewal moves to its own start + TTL − drift, by
// the monotonic clock: from the start, because Redis counts from some instant after it. A renewal that says "not
// yours" ends the lease at once. One that says nothing (a timeout, a lost connection) is neither success nor loss, and
// is tried again until the lease may have run out. Then the context is cancelled with the cause ErrLost; and it is at
// whatever moment somebody looks, see [leaseContext].
func (b Backends) keepAlive(
	ctx context.Context, ttl, every time.Duration, validUntil time.Time,
	renew func(ctx context.Context) (bool, error),
) (context.Context, func()) {
	work := newLeaseContext(ctx, validUntil)
	// The renewing outlives the request: the work may still be writing when its caller has gone.
	run, stop := context.WithCancel(context.WithoutCancel(ctx))
	unhook := context.AfterFunc(b.Life, stop)
	var running sync.WaitGroup
	running.Add(1)
	b.Background.Add(1)
	go func() {
		defer b.Background.Done()
		defer running.Done()
		due := time.Now().Add(every)
		for sleepUntil(run, earlier(due, validUntil)) {
			start := time.Now()
			if !start.Before(validUntil) {
				work.lose(ErrLost)
				return
			}
			ok, err := b.answered(run, validUntil, renew)
			if err != nil && run.Err() != nil { // released meanwhile
				return
			}
			ok, err = b.renewed(ok, err)
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
				validUntil = start.Add(ttl - drift(ttl))
				due = start.Add(every)
				if !work.extend(validUntil) {
					return
				}
			}
		}
	}()
	return work, func() {
		unhook()
		stop()
		running.Wait()
		work.lose(context.Canceled)
	}
}

// joinTime is how long a release waits for a renewal under way.
const joinTime = 50 * time.Millisecond

// answered returns the answer to a renewal, or why there was none: the deadline is over, or run has ended. A client of
// Redis does not end a command with its context, only at a deadline. A release that waited for one to the end would be
// as late as the client's timeout; so it waits for as long as an answer usually takes, and no longer. What was sent may
// still be carried out after the release, and finds a lock that is not its owner's any more.
func (b Backends) answered(
	run context.Context, deadline time.Time, renew func(context.Context) (bool, error),
) (bool, error) {
	type answer struct {
		ok  bool
		err error
	}
	one, done := context.WithDeadline(context.WithoutCancel(run), deadline)
	defer done()
	answers := make(chan answer, 1)
	b.Background.Go(func() {
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

// atMost lets a lease be renewed n times; the renewal after those is ErrExhausted.
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

// drift is how much earlier than Redis a holder gives its lease up, because their clocks do not run at one speed.
// Redlock, "Is the algorithm asynchronous?": a small share of the TTL, plus the granularity of Redis' expiry. The share
// is larger than the hundredth that is common, since cancelling the work takes time too: a busy process may hear of it
// some milliseconds late.
func drift(ttl time.Duration) time.Duration { return ttl/20 + 2*time.Millisecond }

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// sleepUntil returns true at t, or false as soon as ctx ends.
func sleepUntil(ctx context.Context, t time.Time) bool {
	timer := time.NewTimer(time.Until(t))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
