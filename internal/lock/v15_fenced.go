package lock

import (
	"context"
	"fmt"
	"time"
)

// fenced is v15: every acquire draws a fencing token, a number that only grows. The lock is only half of it: the stock
// refuses a token older than the newest that it has seen, on reading and on writing. So this rung has a shelf of its
// own in the ladder. Even if a holder is paused, no unit is sold twice.
// The token is from Martin Kleppmann, "How to do distributed locking" (2016), and from Chubby's sequencers.
func fenced(rt runtime) TryLock {
	return func(ctx context.Context, key string, o Options) (*Lease, error) {
		token, validUntil := newToken(), time.Now().Add(o.TTL-drift(o.TTL))
		free := func(ctx context.Context) error { return release(ctx, rt.Redis, key, token) }
		fence, err := acquireFenced(ctx, rt.Redis, key, token, o.TTL)
		if err != nil {
			rt.undo(ctx, err, free)
			return nil, fmt.Errorf("acquire: %w", err)
		}
		if fence == 0 {
			return nil, ErrBusy
		}
		if time.Now().After(validUntil) { // the reply was so late that the lease has expired
			_ = rt.releaseOrSweep(ctx, free)
			return nil, ErrBusy
		}
		ctx, stop := rt.keepAlive(ctx, o, o.TTL/2, validUntil, func(tick context.Context) (bool, error) {
			return renew(tick, rt.Redis, key, token, o.TTL)
		})
		unlock := func(ctx context.Context) error {
			stop()
			return rt.releaseOrSweep(ctx, free)
		}
		forget := func(ctx context.Context) error {
			forgetFence(ctx, rt.Redis, key, token)
			return unlock(ctx)
		}
		return &Lease{Context: ctx, Token: token, Fence: fence, unlock: unlock, forget: forget}, nil
	}
}
