package lock

import (
	"context"
	"fmt"
	"time"
)

// fair is v8: first come, first served, across all instances. Who has to wait gets a place in a queue in Redis, and keeps
// it by coming again; the release tells the first of the queue, and nobody else. A place whose owner does not come again
// is passed over. The queue is Redisson's idea (RFairLock); the clock is Redis' own.
// Defect: a lease is a lease. A holder that is paused does not see it end; and a dead waiter costs those behind it a few
// seconds.
func fair(b Backends) TryLock {
	return func(ctx context.Context, key string, ttl time.Duration) (*Lease, error) {
		token, validUntil := newToken(), time.Now().Add(ttl-drift(ttl))
		free := func(ctx context.Context) error { return releaseFair(ctx, b.Redis, key, token) }
		left, err := acquireFair(ctx, b.Redis, key, token, placeOf(ctx), ttl)
		if err != nil {
			b.undoFair(ctx, err, key, placeOf(ctx), free)
			return nil, fmt.Errorf("acquire: %w", err)
		}
		if left > 0 {
			return nil, busyFor{left}
		}
		if time.Now().After(validUntil) { // the answer took so long that the lease has ended
			_ = b.giveBack(ctx, free)
			return nil, busyFor{}
		}
		ctx, stop := b.keepAlive(ctx, ttl, ttl/2, validUntil, func(tick context.Context) (bool, error) {
			return renew(tick, b.Redis, key, token, ttl)
		})
		unlock := func(ctx context.Context) error {
			stop()
			return b.giveBack(ctx, free)
		}
		return &Lease{Context: ctx, Token: token, Unlock: unlock}, nil
	}
}
