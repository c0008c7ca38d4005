package lock

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// multilock is v9: the locks of several products as one, all or none. Each is a lease as v5.5's, all with one token and
// one deadline, which counts from before the first was asked for. If one is refused, those already taken are given back
// before anybody waits: an order that waits holds nothing that another could be waiting for, so no two wait for each
// other. The keys are sorted, so that of two orders with the same products the one that gets the first gets the rest;
// unsorted, each would get one, be refused the other, and both would begin again. A key that is named twice is taken
// once: its second SET NX would be refused because of the first.
//
// Its waiters poll, and are not woken as v7's: which of the keys is in the way changes from one try to the next.
// One key on each of N nodes instead of N keys on one is v9-nodes.
// Defect: an order of many products may wait for ever while each of them is sold by itself, as it queues for none.
func multilock(b Backends) TryAll {
	return func(ctx context.Context, keys []string, ttl time.Duration) (*Lease, error) {
		keys = slices.Compact(slices.Sorted(slices.Values(keys)))
		token, validUntil := newToken(), time.Now().Add(ttl-drift(ttl))
		for i, key := range keys {
			ok, err := b.Redis.SetNX(ctx, key, token, ttl).Result()
			switch {
			case err != nil:
				_ = b.giveBackAll(ctx, keys[:i], token)
				b.undo(ctx, err, func(ctx context.Context) error { return release(ctx, b.Redis, key, token) })
				return nil, fmt.Errorf("acquire: %w", err)
			case !ok:
				_ = b.giveBackAll(ctx, keys[:i], token)
				return nil, ErrBusy
			}
		}
		if time.Now().After(validUntil) { // the answers took so long that the first lease has ended
			_ = b.giveBackAll(ctx, keys, token)
			return nil, ErrBusy
		}
		ctx, stop := b.keepAlive(ctx, ttl, ttl/2, validUntil, atMost(b.MaxRenewals, func(tick context.Context) (bool, error) {
			return renewAll(tick, b.Redis, keys, token, ttl)
		}))
		unlock := func(ctx context.Context) error {
			stop()
			return b.giveBackAll(ctx, keys, token)
		}
		return &Lease{Context: ctx, Token: token, Unlock: unlock}, nil
	}
}
