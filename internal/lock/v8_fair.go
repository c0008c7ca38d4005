package lock

import (
	"context"
	"fmt"
	"time"
)

// fair is v8: first come, first served, across all instances. It is v7 with a queue in Redis. A waiter takes a place in
// the queue, and keeps the place by renewing it. The last release notifies the first waiter in the queue, and no other.
// A place that is not renewed is skipped. The owner of the lock takes it again past the queue. The queue is Redisson's
// idea (RFairLock). The deadlines are by Redis' own clock.
// Defect: that of every lease. A holder that is paused does not see it expire. And a dead waiter delays those behind it
// by a few seconds.
func fair(rt runtime) TryLock {
	return func(ctx context.Context, key string, o Options) (*Lease, error) {
		owner, validUntil := o.owner(), time.Now().Add(o.TTL-drift(o.TTL))
		field, depth := owner.lookup(key)
		free := func(ctx context.Context) error { return releaseFair(ctx, rt.Redis, key, field, depth) }
		count, left, err := acquireFair(ctx, rt.Redis, key, field, depth, placeOf(ctx), o.TTL)
		if err != nil {
			rt.undoFair(ctx, err, key, placeOf(ctx), free)
			return nil, fmt.Errorf("acquire: %w", err)
		}
		if count == 0 {
			return nil, busyFor{left}
		}
		if time.Now().After(validUntil) { // the reply was so late that the lease has expired
			_ = rt.releaseOrSweep(ctx, free)
			return nil, busyFor{}
		}
		stop := func() {}
		if depth == 0 { // a nested acquire shares the outer lease
			ctx, stop = rt.keepAlive(ctx, o, o.TTL/3, validUntil, func(tick context.Context) (bool, error) {
				return renewReentrant(tick, rt.Redis, key, field, o.TTL)
			})
		}
		owner.enter(key, field)
		unlock := func(ctx context.Context) error {
			left := owner.exit(key)
			stop()
			return rt.releaseOrSweep(ctx, func(ctx context.Context) error {
				return releaseFair(ctx, rt.Redis, key, field, left)
			})
		}
		return &Lease{Context: ctx, Token: field, unlock: unlock}, nil
	}
}
