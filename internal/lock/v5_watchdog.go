package lock

import (
	"context"
	"fmt"
)

// watchdog is v5, step 5 of the article, without its slips: v4 with a timer that renews the lease at half its TTL until
// the work is done. The timer stops on every path. The release waits for it, and a renewal never creates the key again.
// If the reply to an acquire is lost, the acquire is undone, which the token makes safe.
// Defect: as in the article, the result of a renewal is ignored. A holder that is paused, or partitioned from Redis,
// works on without its lock. A holder whose work never ends keeps all others out for ever.
func watchdog(rt runtime) TryLock {
	return func(ctx context.Context, key string, o Options) (*Lease, error) {
		token := newToken()
		free := func(ctx context.Context) error { return release(ctx, rt.Redis, key, token) }
		ok, err := rt.Redis.SetNX(ctx, key, token, o.TTL).Result()
		if err != nil {
			rt.undo(ctx, err, free)
			return nil, fmt.Errorf("acquire: %w", err)
		}
		if !ok {
			return nil, ErrBusy
		}
		stop := rt.every(ctx, o, o.TTL/2, func(tick context.Context) {
			_, _ = rt.reportRenewal(renew(tick, rt.Redis, key, token, o.TTL))
		})
		unlock := func(ctx context.Context) error {
			stop()
			return rt.releaseOrSweep(ctx, free)
		}
		return &Lease{Context: ctx, Token: token, unlock: unlock}, nil
	}
}
