package lock

import (
	"context"
	"fmt"
	"time"
)

// bounded is v5.5: v5 with a limit. The lease is renewed a few times at most. Then the work is cancelled before it
// writes, while the lease still has half a TTL left, and the lock is released. It also looks at the result of each
// renewal: when the lease may have expired, the work is cancelled too.
// Defect: none of its own. No lease helps against a holder that is paused between its last check and its write.
func bounded(rt runtime) TryLock {
	return func(ctx context.Context, key string, o Options) (*Lease, error) {
		token, validUntil := newToken(), time.Now().Add(o.TTL-drift(o.TTL))
		free := func(ctx context.Context) error { return release(ctx, rt.Redis, key, token) }
		ok, err := rt.Redis.SetNX(ctx, key, token, o.TTL).Result()
		if err != nil {
			rt.undo(ctx, err, free)
			return nil, fmt.Errorf("acquire: %w", err)
		}
		if !ok {
			return nil, ErrBusy
		}
		if time.Now().After(validUntil) { // the reply was so late that the lease has expired
			_ = rt.releaseOrSweep(ctx, free)
			return nil, ErrBusy
		}
		renewal := func(tick context.Context) (bool, error) { return renew(tick, rt.Redis, key, token, o.TTL) }
		ctx, stop := rt.keepAlive(ctx, o, o.TTL/2, validUntil, atMost(rt.MaxRenewals, renewal))
		unlock := func(ctx context.Context) error {
			stop()
			return rt.releaseOrSweep(ctx, free)
		}
		return &Lease{Context: ctx, Token: token, unlock: unlock}, nil
	}
}
