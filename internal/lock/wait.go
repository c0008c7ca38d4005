package lock

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

// A Delay returns how long to wait before try n, counted from 1, is repeated.
type Delay func(n int) time.Duration

// Fixed returns a Delay that is always d.
func Fixed(d time.Duration) Delay {
	return func(int) time.Duration { return d }
}

// Around returns a Delay that is drawn evenly from half of d to one and a half: d on average, and different for each
// waiter. Redlock asks for that ("Retry on failure"): those who try at the same moment split the nodes between them,
// and nobody gets a majority.
func Around(d time.Duration) Delay {
	return func(int) time.Duration { return d/2 + rand.N(d+1) }
}

// Backoff returns a Delay that starts at low and doubles up to high. Each delay is drawn evenly from its upper half,
// so that waiters who started together do not try together.
func Backoff(low, high time.Duration) Delay {
	return func(n int) time.Duration {
		d := high
		if shift := n - 1; shift < 16 {
			d = min(low<<shift, high)
		}
		return d/2 + rand.N(d/2+1)
	}
}

// An Attempt is one call of a [TryLock]. What it is given carries what the Waiting keeps from one attempt to the next.
type Attempt func(ctx context.Context) (*Lease, error)

// A Waiting repeats attempt for as long as it says ErrBusy or ErrNoQuorum, and for patience at most: with a patience of
// zero it is made once. The last attempt is made when the patience is over. A Waiting returns what the last attempt
// returned, or the cause with which ctx ended between two of them. Patience belongs to the one call; the TTL has no part
// in it.
type Waiting func(ctx context.Context, key string, patience time.Duration, attempt Attempt) (*Lease, error)

// Polling returns the Waiting of the article: try again after a delay. There is no message that could get lost, and the
// price is a command per waiter and delay.
func Polling(delay Delay) Waiting {
	return func(ctx context.Context, _ string, patience time.Duration, attempt Attempt) (*Lease, error) {
		return poll(ctx, patience, delay, attempt)
	}
}

func poll(ctx context.Context, patience time.Duration, delay Delay, attempt Attempt) (*Lease, error) {
	n := 0
	return repeat(ctx, patience, attempt, func(ctx context.Context, deadline time.Time) bool {
		n++
		return sleepUntil(ctx, earlier(time.Now().Add(delay(n)), deadline))
	})
}

// repeat is the loop of every [Waiting]: between two attempts it calls pause, which returns true when another is worth
// it, or at the deadline, and false when ctx ended.
func repeat(
	ctx context.Context, patience time.Duration, attempt Attempt, pause func(ctx context.Context, deadline time.Time) bool,
) (*Lease, error) {
	deadline := time.Now().Add(patience)
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
