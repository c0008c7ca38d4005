package lock

import (
	"context"
	"fmt"
	"time"
)

// reentrant is v7: its owner may take it again, and holds it until it has given it back as often. The lock is a hash of
// its owner to a count. It lies in Redis just as Redisson's RLock does, field, count and channel, so that a service in
// Java and this one exclude and wake each other on the same key. Where Redisson's field names a process and a thread, ours
// names an outermost hold and its caller: a release that was lost or comes late finds nothing of the caller's next order.
// The outermost hold is renewed at a third of the TTL, and those inside of it live by its lease and its context.
// Waiters do not poll: the last release publishes a message; see wake.go.
// Defect: a lease is a lease. A holder that is paused does not see it end.
func reentrant(b Backends) TryLock {
	return func(ctx context.Context, key string, ttl time.Duration) (*Lease, error) {
		owner, validUntil := ownerOf(ctx), time.Now().Add(ttl-drift(ttl))
		field, before := owner.hold(key)
		free := func(ctx context.Context) error { return releaseReentrant(ctx, b.Redis, key, field, before) }
		count, left, err := acquireReentrant(ctx, b.Redis, key, field, before, ttl)
		if err != nil {
			b.undo(ctx, err, free)
			return nil, fmt.Errorf("acquire: %w", err)
		}
		if count == 0 {
			return nil, busyFor{left}
		}
		if time.Now().After(validUntil) { // the answer took so long that the lease has ended
			_ = b.giveBack(ctx, free)
			return nil, busyFor{}
		}
		stop := func() {}
		if before == 0 { // a hold inside of another lives by the other's lease
			ctx, stop = b.keepAlive(ctx, ttl, ttl/3, validUntil, func(tick context.Context) (bool, error) {
				return renewReentrant(tick, b.Redis, key, field, ttl)
			})
		}
		owner.took(key, field)
		unlock := func(ctx context.Context) error {
			left := owner.gave(key)
			stop()
			return b.giveBack(ctx, func(ctx context.Context) error { return releaseReentrant(ctx, b.Redis, key, field, left) })
		}
		return &Lease{Context: ctx, Token: field, Unlock: unlock}, nil
	}
}
