package lock

import (
	"context"
	"fmt"
	"time"
)

// semaphore is v11: up to so many hold it at once, each with a token, a deadline and a renewal of its own. With one
// permit it is a lock. The deadlines are by Redis' clock, so that the permit of a holder that died is free again after
// its TTL, however busy the others are; and a permit that has run out cannot be given back, or it would be there twice.
// Defect: how many permits there are is not written down anywhere. Each caller brings its own number, and the largest
// wins: a caller that says 2 walks in beside one that says 1. And a pause, as of every lease.
func semaphore(usual int64) func(b Backends) TryLock {
	return func(b Backends) TryLock {
		return func(ctx context.Context, key string, ttl time.Duration) (*Lease, error) {
			token, validUntil := newToken(), time.Now().Add(ttl-drift(ttl))
			free := func(ctx context.Context) error { return releasePermit(ctx, b.Redis, key, token) }
			held, err := acquirePermit(ctx, b.Redis, key, token, ttl, permitsOf(ctx, usual))
			if err != nil {
				b.undo(ctx, err, free)
				return nil, fmt.Errorf("acquire: %w", err)
			}
			if held == 0 {
				return nil, ErrBusy
			}
			if time.Now().After(validUntil) { // the answer took so long that the lease has ended
				_ = b.giveBack(ctx, free)
				return nil, ErrBusy
			}
			ctx, stop := b.keepAlive(ctx, ttl, ttl/2, validUntil, func(tick context.Context) (bool, error) {
				return renewPermit(tick, b.Redis, key, token, ttl)
			})
			unlock := func(ctx context.Context) error {
				stop()
				return b.giveBack(ctx, free)
			}
			return &Lease{Context: ctx, Token: token, Unlock: unlock}, nil
		}
	}
}
