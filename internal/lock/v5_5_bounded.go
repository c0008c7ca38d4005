package lock

import (
	"context"
	"fmt"
	"time"
)

// bounded is v5.5: v5 with an end. The lease is renewed a few times, no more; then the work is cancelled before it
// writes, while the lease still has half a TTL to go, and the lock is released. And somebody looks at what a renewal
// returned: a lease that may have run out cancels the work too.
// Defect: none of its own. A holder that stops dead between its last look and its write is beyond any lease.
func bounded(b Backends) TryLock {
	return func(ctx context.Context, key string, ttl time.Duration) (*Lease, error) {
		token, validUntil := newToken(), time.Now().Add(ttl-drift(ttl))
		free := func(ctx context.Context) error { return release(ctx, b.Redis, key, token) }
		ok, err := b.Redis.SetNX(ctx, key, token, ttl).Result()
		if err != nil {
			b.undo(ctx, err, free)
			return nil, fmt.Errorf("acquire: %w", err)
		}
		if !ok {
			return nil, ErrBusy
		}
		if time.Now().After(validUntil) { // the answer took so long that the lease has ended
			_ = b.giveBack(ctx, free)
			return nil, ErrBusy
		}
		ctx, stop := b.keepAlive(ctx, ttl, ttl/2, validUntil, atMost(b.MaxRenewals, func(tick context.Context) (bool, error) {
			return renew(tick, b.Redis, key, token, ttl)
		}))
		unlock := func(ctx context.Context) error {
			stop()
			return b.giveBack(ctx, free)
		}
		return &Lease{Context: ctx, Token: token, Unlock: unlock}, nil
	}
}
