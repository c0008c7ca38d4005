package lock

import (
	"context"
	"fmt"
	"time"
)

// zkHasty is v14-hasty, an exhibit: v14 as it is often printed. A waiter waits once for the node before its own, and
// then takes itself for the holder. It does not look at the queue again.
// Defect: the node before its own may be that of a waiter, which died or gave up while the holder still works. And the
// time to wait may be over before the work is.
func zkHasty(rt runtime) TryLock {
	try := zkSequential(rt)
	return func(ctx context.Context, key string, o Options) (*Lease, error) {
		place := zkPlaceOf(ctx, key)
		if place == nil || place.before == "" { // it has not waited yet
			return try(ctx, key, o)
		}
		if err := place.enqueue(ctx); err != nil {
			return nil, fmt.Errorf("acquire: %w", err)
		}
		return place.grant(ctx), nil
	}
}

// inQueueOnce is the [Waiting] of v14-hasty. It waits until the node before its own is gone, or for the time that the
// request may wait.
func (z zkNodes) inQueueOnce(
	ctx context.Context, key string, maxWait time.Duration, attempt Attempt,
) (*Lease, error) {
	place := z.place(key)
	defer place.leave(ctx)
	ctx = context.WithValue(ctx, zkPlaceKey{}, place)
	return repeat(ctx, maxWait, attempt, func(ctx context.Context, deadline time.Time) bool {
		if place.before == "" {
			return ctx.Err() == nil
		}
		return z.await(ctx, place.dir+"/"+place.before, deadline)
	})
}
