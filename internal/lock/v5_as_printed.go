package lock

import (
	"context"
	"fmt"
	"time"
)

// asPrinted is v5 with the two slips of the article's listing. The timer is stopped where the sale succeeded and
// nowhere else; and its script writes the key again when it is gone. So after a "sold out" the timer runs on, and half
// a TTL later the released lock comes back from the dead, held by nobody, renewed until the process ends, or until enough
// other orders have left a timer: see [leaks].
func asPrinted(b Backends) TryLock {
	timers := &leaks{Backends: b}
	return func(ctx context.Context, key string, ttl time.Duration) (*Lease, error) {
		token := newToken()
		ok, err := b.Redis.SetNX(ctx, key, token, ttl).Result()
		if err != nil {
			return nil, fmt.Errorf("acquire: %w", err)
		}
		if !ok {
			return nil, ErrBusy
		}
		stop, leave := timers.every(ctx, ttl/2, func(tick context.Context) {
			_, _ = b.renewed(renewOrRecreate(tick, b.Redis, key, token, ttl))
		})
		unlock := func(ctx context.Context) error {
			leave()
			return release(ctx, b.Redis, key, token)
		}
		return &Lease{Context: ctx, Token: token, Unlock: unlock, Sold: stop}, nil
	}
}
