package lock

import (
	"context"
)

// everyNode is v9-nodes, an exhibit: Redlock built from a multilock. It takes v9's lock of one key on every independent
// node of v6, all or none. It asks the nodes one after the other, so that the order that gets the first node gets the
// rest. While a single node remembers the lock, no other order gets it, so a node that restarts empty does no harm.
// Defect: there is no quorum. With one node unavailable nobody sells, so five nodes stop the shop about five times as
// often as one. The majority of v6 avoids that. The scenario node-restart shows the price of a majority.
func everyNode(rt runtime) TryLock {
	var locks []TryLock
	for _, node := range rt.Redlock {
		at := rt
		at.Redis = node
		locks = append(locks, single(multilock)(at))
	}
	return func(ctx context.Context, key string, o Options) (*Lease, error) {
		held := &Lease{Context: ctx}
		for _, tryLock := range locks {
			next, err := tryLock(held.Context, key, o)
			if err != nil {
				_ = held.Unlock(ctx)
				return nil, err
			}
			held = held.combine(next)
		}
		return held, nil
	}
}
