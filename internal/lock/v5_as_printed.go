package lock

import (
	"context"
	"fmt"
)

// asPrinted is v5 with the two slips of the article's listing: the timer is stopped only where the sale succeeded, and
// its script creates the key again when it is gone. So after a "sold out" the timer runs on. Half a TTL later it
// creates the released lock again. Nobody holds that lock, and it is renewed until the process ends, or until enough
// other orders have leaked a timer: see [leaks].
func asPrinted(rt runtime) TryLock {
	timers := &leaks{runtime: rt}
	return func(ctx context.Context, key string, o Options) (*Lease, error) {
		token := newToken()
		ok, err := rt.Redis.SetNX(ctx, key, token, o.TTL).Result()
		if err != nil {
			return nil, fmt.Errorf("acquire: %w", err)
		}
		if !ok {
			return nil, ErrBusy
		}
		stop, leave := timers.every(ctx, o, o.TTL/2, func(tick context.Context) {
			_, _ = rt.reportRenewal(renewOrRecreate(tick, rt.Redis, key, token, o.TTL))
		})
		unlock := func(ctx context.Context) error {
			leave()
			return release(ctx, rt.Redis, key, token)
		}
		return &Lease{Context: ctx, Token: token, unlock: unlock, Sold: stop}, nil
	}
}
