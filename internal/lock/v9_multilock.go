package lock

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// multilock is v9: the locks of several products as one, all or none. Each is a lease as on v5.5. All have one token,
// and one deadline, which counts from before the first acquire. If one is refused, those already taken are released
// before the order waits: a waiting order holds no lock, so no two orders wait for each other. The keys are sorted, so
// that of two orders with the same products, the one that gets the first key gets the rest. Unsorted, each would get
// one key, be refused the other, and both would start again. A key that is named twice is taken once: its second SET NX
// would fail because of the first.
//
// Its waiters poll, and are not notified as on v7, because the key that is held changes from one try to the next.
// v9-nodes takes one key on each of N nodes, instead of N keys on one.
// Defect: an order of many products may wait for ever while each product is sold on its own, since it has no place in
// any queue.
func multilock(rt runtime) TryAll {
	return func(ctx context.Context, keys []string, o Options) (*Lease, error) {
		keys = slices.Compact(slices.Sorted(slices.Values(keys)))
		token, validUntil := newToken(), time.Now().Add(o.TTL-drift(o.TTL))
		for i, key := range keys {
			ok, err := rt.Redis.SetNX(ctx, key, token, o.TTL).Result()
			switch {
			case err != nil:
				_ = rt.releaseAll(ctx, keys[:i], token)
				rt.undo(ctx, err, func(ctx context.Context) error { return release(ctx, rt.Redis, key, token) })
				return nil, fmt.Errorf("acquire: %w", err)
			case !ok:
				_ = rt.releaseAll(ctx, keys[:i], token)
				return nil, ErrBusy
			}
		}
		if time.Now().After(validUntil) { // the replies were so late that the first lease has expired
			_ = rt.releaseAll(ctx, keys, token)
			return nil, ErrBusy
		}
		renewal := func(tick context.Context) (bool, error) { return renewAll(tick, rt.Redis, keys, token, o.TTL) }
		ctx, stop := rt.keepAlive(ctx, o, o.TTL/2, validUntil, atMost(rt.MaxRenewals, renewal))
		unlock := func(ctx context.Context) error {
			stop()
			return rt.releaseAll(ctx, keys, token)
		}
		return &Lease{Context: ctx, Token: token, unlock: unlock}, nil
	}
}
