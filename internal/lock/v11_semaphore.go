package lock

import (
	"cmp"
	"context"
	"fmt"
	"time"
)

// semaphore is v11: a limited number of orders holds it at once, each with a token, a deadline and a renewal of its
// own. With one permit it is a lock. The deadlines are by Redis' clock, so that the permit of a dead holder is free
// after its TTL, even if other holders renew theirs. A permit that has expired cannot be returned, or there would be
// one too many.
// Defect: the number of permits is not stored anywhere. Each caller brings its own number, and the largest one wins: a
// caller with 2 comes in beside a caller with 1. And a pause, as on every lease.
func semaphore(usual int64) func(rt runtime) TryLock {
	return func(rt runtime) TryLock {
		return func(ctx context.Context, key string, o Options) (*Lease, error) {
			token, validUntil := newToken(), time.Now().Add(o.TTL-drift(o.TTL))
			free := func(ctx context.Context) error { return releasePermit(ctx, rt.Redis, key, token) }
			held, err := acquirePermit(ctx, rt.Redis, key, token, o.TTL, cmp.Or(o.Permits, usual))
			if err != nil {
				rt.undo(ctx, err, free)
				return nil, fmt.Errorf("acquire: %w", err)
			}
			if held == 0 {
				return nil, ErrBusy
			}
			if time.Now().After(validUntil) { // the reply was so late that the lease has expired
				_ = rt.releaseOrSweep(ctx, free)
				return nil, ErrBusy
			}
			ctx, stop := rt.keepAlive(ctx, o, o.TTL/2, validUntil, func(tick context.Context) (bool, error) {
				return renewPermit(tick, rt.Redis, key, token, o.TTL)
			})
			unlock := func(ctx context.Context) error {
				stop()
				return rt.releaseOrSweep(ctx, free)
			}
			return &Lease{Context: ctx, Token: token, unlock: unlock}, nil
		}
	}
}
