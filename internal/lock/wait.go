package lock

import (
	"context"
	"errors"
	"time"
)

// A Delay returns how long to wait before try n, counted from 1, is repeated.
type Delay func(n int) time.Duration

// A Random returns a random duration from 0 up to, but not including, n.
type Random func(n time.Duration) time.Duration

// Around returns a random Delay between half of d and one and a half of d: d on average, and different for each waiter.
// Redlock asks for that ("Retry on failure"): clients that try at the same moment split the nodes between them, and
// none gets a majority.
func Around(d time.Duration, random Random) Delay {
	return func(int) time.Duration { return d/2 + random(d+1) }
}

// Backoff returns a Delay that starts at low and doubles up to high. Each delay is random in its upper half, so that
// waiters that started together do not try together.
func Backoff(low, high time.Duration, random Random) Delay {
	return func(n int) time.Duration {
		d := high
		if shift := n - 1; shift < 16 {
			d = min(low<<shift, high)
		}
		return d/2 + random(d/2+1)
	}
}

// An Attempt is one call of a [TryLock]. Its context carries the values that a [Waiting] keeps from one attempt to the
// next.
type Attempt func(ctx context.Context) (*Lease, error)

// A Waiting repeats attempt while it returns ErrBusy or ErrNoQuorum, for maxWait at most. If maxWait is zero it makes
// one attempt. It makes the last one when maxWait is over, and returns the result of the last one. If ctx ends between
// two attempts, it returns the cause. The limit does not depend on the TTL, nor on other calls.
type Waiting func(ctx context.Context, key string, maxWait time.Duration, attempt Attempt) (*Lease, error)

// Polling returns the Waiting of the article, which tries again after a delay. It needs no message, which could get
// lost; each waiter costs one command per delay.
func Polling(delay Delay) Waiting {
	return func(ctx context.Context, _ string, maxWait time.Duration, attempt Attempt) (*Lease, error) {
		return poll(ctx, maxWait, delay, attempt)
	}
}

func poll(ctx context.Context, maxWait time.Duration, delay Delay, attempt Attempt) (*Lease, error) {
	n := 0
	return repeat(ctx, maxWait, attempt, func(ctx context.Context, deadline time.Time) bool {
		n++
		return sleepUntil(ctx, earlier(time.Now().Add(delay(n)), deadline))
	})
}

// repeat is the loop of a [Waiting]. Between two attempts it calls pause, which returns true when it is time for
// another attempt, at the latest at the deadline, or false when ctx has ended.
func repeat(
	ctx context.Context, maxWait time.Duration, attempt Attempt,
	pause func(ctx context.Context, deadline time.Time) bool,
) (*Lease, error) {
	deadline := time.Now().Add(maxWait)
	for {
		lease, err := attempt(ctx)
		if !errors.Is(err, ErrBusy) && !errors.Is(err, ErrNoQuorum) {
			return lease, err
		}
		if !time.Now().Before(deadline) {
			return nil, err
		}
		if !pause(ctx, deadline) {
			return nil, context.Cause(ctx)
		}
	}
}
