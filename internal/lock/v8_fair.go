package lock

import (
	"context"
	"fmt"
	"time"
)

// fair is v8: first come, first served, across all instances. A waiter takes a place in a queue in Redis, and keeps the
// place by renewing it. A release notifies the first waiter in the queue, and no other. A place that is not renewed is
// skipped. The queue is Redisson's idea (RFairLock). The deadlines are by Redis' own clock.
// Defect: that of every lease. A holder that is paused does not see it expire. And a dead waiter delays those behind it
// by a few seconds.
func fair(rt runtime) TryLock {
	return func(ctx context.Context, key string, ttl time.Duration) (*Lease, error) {
		token, validUntil := newToken(), time.Now().Add(ttl-drift(ttl))
		free := func(ctx context.Context) error { return releaseFair(ctx, rt.Redis, key, token) }
		left, err := acquireFair(ctx, rt.Redis, key, token, placeOf(ctx), ttl)
		if err != nil {
			rt.undoFair(ctx, err, key, placeOf(ctx), free)
			return nil, fmt.Errorf("acquire: %w", err)
		}
		if left > 0 {
			return nil, busyFor{left}
		}
		if time.Now().After(validUntil) { // the reply was so late that the lease has expired
			_ = rt.releaseOrSweep(ctx, free)
			return nil, busyFor{}
		}
		ctx, stop := rt.keepAlive(ctx, ttl, ttl/2, validUntil, func(tick context.Context) (bool, error) {
			return renew(tick, rt.Redis, key, token, ttl)
		})
		unlock := func(ctx context.Context) error {
			stop()
			return rt.releaseOrSweep(ctx, free)
		}
		return &Lease{Context: ctx, Token: token, Unlock: unlock}, nil
	}
}
