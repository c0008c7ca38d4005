package lock

import (
	"context"
	"fmt"
	"time"
)

// fenced is v15: a lease whose every acquire draws a fencing token, a number that only grows. The lock is half of it
// at most: it is the stock that refuses a token older than the newest it has seen, on reading and on writing. So this
// rung names a shelf of its own in the ladder. However its holder is paused, the stock is not sold twice.
// The token goes back to Martin Kleppmann, "How to do distributed locking" (2016), and to Chubby's sequencers.
func fenced(b Backends) TryLock {
	return func(ctx context.Context, key string, ttl time.Duration) (*Lease, error) {
		token, validUntil := newToken(), time.Now().Add(ttl-drift(ttl))
		free := func(ctx context.Context) error { return release(ctx, b.Redis, key, token) }
		fence, err := acquireFenced(ctx, b.Redis, key, token, ttl)
		if err != nil {
			b.undo(ctx, err, free)
			return nil, fmt.Errorf("acquire: %w", err)
		}
		if fence == 0 {
			return nil, ErrBusy
		}
		if time.Now().After(validUntil) { // the answer took so long that the lease has ended
			_ = b.giveBack(ctx, free)
			return nil, ErrBusy
		}
		ctx, stop := b.keepAlive(ctx, ttl, ttl/2, validUntil, func(tick context.Context) (bool, error) {
			return renew(tick, b.Redis, key, token, ttl)
		})
		unlock := func(ctx context.Context) error {
			stop()
			return b.giveBack(ctx, free)
		}
		return &Lease{Context: ctx, Token: token, Fence: fence, Unlock: unlock}, nil
	}
}
