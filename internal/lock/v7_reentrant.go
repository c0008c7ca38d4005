package lock

import (
	"context"
	"fmt"
	"time"
)

// reentrant is v7: its owner may take it again, and holds it until it has given it back as often. The lock is a hash of
// its owner to a count. It lies in Redis just as Redisson's RLock does, field, count and channel, so that a service in
// Java and this one exclude and wake each other on the same key. The outermost hold is renewed at a third of the TTL.
// Waiters do not poll: the last release publishes a message; see wake.go.
// Defect: a lease is a lease. A holder that is paused does not see it end.
func reentrant(b Backends) TryLock {
	process := newToken() // Redisson's client id: callers are numbered within a process
	return func(ctx context.Context, key string, ttl time.Duration) (*Lease, error) {
		owner, validUntil := ownerOf(ctx), time.Now().Add(ttl-drift(ttl))
		field, before := process+":"+owner.id, owner.depth(key)
		count, left, err := acquireReentrant(ctx, b.Redis, key, field, ttl)
		if err != nil {
			restore(ctx, b.Redis, key, field, before)
			return nil, fmt.Errorf("acquire: %w", err)
		}
		if count == 0 {
			return nil, busyFor{left}
		}
		if time.Now().After(validUntil) { // the answer took so long that the lease has ended
			restore(ctx, b.Redis, key, field, before)
			return nil, ErrBusy
		}
		stop := func() {}
		if before == 0 {
			ctx, stop = b.keepAlive(ctx, ttl, ttl/3, validUntil, func(tick context.Context) (bool, error) {
				return renewReentrant(tick, b.Redis, key, field, ttl)
			})
		}
		owner.add(key, +1)
		unlock := func(ctx context.Context) error {
			owner.add(key, -1)
			stop()
			return releaseReentrant(ctx, b.Redis, key, field, ttl)
		}
		return &Lease{Context: ctx, Token: field, Unlock: unlock}, nil
	}
}
