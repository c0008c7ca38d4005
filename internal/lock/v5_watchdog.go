package lock

import (
	"context"
	"fmt"
	"time"
)

// watchdog is v5, step 5 of the article, done right: v4 with a timer that renews the lease at half its TTL for as long
// as the work takes. The timer stops on every path, is joined before the release, and renews only a key that is there.
// An acquire whose reply got lost is undone, since with a token of our own it can be.
// Defect: as in the article nobody looks at what a renewal returned. A holder that is paused, or cut off from Redis,
// works on without its lock. And one whose work never ends keeps everybody out for ever.
func watchdog(b Backends) TryLock {
	return func(ctx context.Context, key string, ttl time.Duration) (*Lease, error) {
		token := newToken()
		free := func(ctx context.Context) error { return release(ctx, b.Redis, key, token) }
		ok, err := b.Redis.SetNX(ctx, key, token, ttl).Result()
		if err != nil {
			b.undo(ctx, err, free)
			return nil, fmt.Errorf("acquire: %w", err)
		}
		if !ok {
			return nil, ErrBusy
		}
		stop := b.every(ctx, ttl/2, func(tick context.Context) {
			_, _ = b.renewed(renew(tick, b.Redis, key, token, ttl))
		})
		unlock := func(ctx context.Context) error {
			stop()
			return b.giveBack(ctx, free)
		}
		return &Lease{Context: ctx, Token: token, Unlock: unlock}, nil
	}
}
