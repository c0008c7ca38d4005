package lock

import (
	"context"
	"fmt"
	"time"
)

// reentrant is v7: its owner may take it again, and must release it as often. The lock is a hash of the owner to a
// count. It has the same field, count and channel in Redis as Redisson's RLock, so that a service in Java and this one
// exclude and wake each other on the same key. Redisson's field names a process and a thread. Ours names an outermost
// acquire and its caller, so that a release that was lost or is late cannot touch the caller's next order. The
// outermost lease is renewed at a third of the TTL; nested ones share it and its context. Waiters do not poll: the last
// release publishes a message (wake.go).
// Defect: that of every lease. A holder that is paused does not see it expire.
func reentrant(rt runtime) TryLock {
	return func(ctx context.Context, key string, o Options) (*Lease, error) {
		owner, validUntil := o.owner(), time.Now().Add(o.TTL-drift(o.TTL))
		field, depth := owner.lookup(key)
		free := func(ctx context.Context) error { return releaseReentrant(ctx, rt.Redis, key, field, depth) }
		count, left, err := acquireReentrant(ctx, rt.Redis, key, field, depth, o.TTL)
		if err != nil {
			rt.undo(ctx, err, free)
			return nil, fmt.Errorf("acquire: %w", err)
		}
		if count == 0 {
			return nil, busyFor{left}
		}
		if time.Now().After(validUntil) { // the reply was so late that the lease has expired
			_ = rt.releaseOrSweep(ctx, free)
			return nil, busyFor{}
		}
		stop := func() {}
		if depth == 0 { // a nested acquire shares the outer lease
			ctx, stop = rt.keepAlive(ctx, o, o.TTL/3, validUntil, func(tick context.Context) (bool, error) {
				return renewReentrant(tick, rt.Redis, key, field, o.TTL)
			})
		}
		owner.enter(key, field)
		unlock := func(ctx context.Context) error {
			left := owner.exit(key)
			stop()
			return rt.releaseOrSweep(ctx, func(ctx context.Context) error {
				return releaseReentrant(ctx, rt.Redis, key, field, left)
			})
		}
		return &Lease{Context: ctx, Token: field, unlock: unlock}, nil
	}
}
