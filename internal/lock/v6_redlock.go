package lock

import (
	"context"
	"fmt"

	"github.com/go-redsync/redsync/v4"
)

// redlock is v6: the lock is a key on a majority of N independent Redis nodes, so that no crash or failover of one node
// loses it. The algorithm is redsync's (redis.io, "Distributed Locks with Redis"). The renewal is ours: redsync has
// none.
// Defect: it trusts clocks and memory. A holder that is paused does not see its lease expire, a node that restarts
// empty votes twice, and a clock that jumps ends a lease early.
func redlock(rt runtime) TryLock {
	nodes := rt.nodes()
	return func(ctx context.Context, key string, o Options) (*Lease, error) {
		token := newToken()
		m := nodes.sync.NewMutex(key, redsync.WithExpiry(o.TTL),
			nodes.timeout(o.TTL), withDrift(o.TTL), withToken(token))
		err := nodes.lock(ctx, m, token)
		if err != nil {
			return nil, fmt.Errorf("acquire: %w", err)
		}
		ctx, stop := rt.keepAlive(ctx, o, o.TTL/2, m.Until(), func(ctx context.Context) (bool, error) {
			return nodes.extend(ctx, m)
		})
		unlock := func(ctx context.Context) error {
			stop()
			return nodes.unlock(ctx, m, token)
		}
		return &Lease{Context: ctx, Token: token, unlock: unlock}, nil
	}
}
