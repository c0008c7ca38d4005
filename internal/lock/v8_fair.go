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
		left, err := acquireFair(ctx, b.Redis, key, token, placeOf(ctx), ttl)
		if err != nil {
			undoFair(ctx, b.Redis, key, token)
			return nil, fmt.Errorf("acquire: %w", err)
		}
		if left > 0 || time.Now().After(validUntil) { // or the answer took so long that the lease has ended
			return nil, busyFor{left}
		}
		ctx, stop := b.keepAlive(ctx, ttl, ttl/2, validUntil, func(tick context.Context) (bool, error) {
			return renew(tick, b.Redis, key, token, ttl)
		})
		unlock := func(ctx context.Context) error {
			stop()
			return releaseFair(ctx, b.Redis, key, token)
		}
		return &Lease{Context: ctx, Token: token, Unlock: unlock}, nil
	}
}
