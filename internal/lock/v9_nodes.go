package lock

import (
	"context"
	"time"
)

// everyNode is v9-nodes, an exhibit: Redlock built from a multilock. The lock is v9's, of one key, on each of the
// independent nodes of v6, and all of them are needed, or none is kept. The nodes are asked one after the other, so who
// gets the first gets the rest; and while a single one remembers the lock, nobody else gets it: a node that restarts
// empty votes for nobody.
// Defect: there is no quorum. With one node away nobody sells, so five nodes are five times as likely to stop everything
// as one. That is what v6 has its majority for, and the price of the majority is what v6 shows under node-restart.
func everyNode(b Backends) TryLock {
	var locks []TryLock
	for _, node := range b.Redlock {
		at := b
		at.Redis = node
		locks = append(locks, detached(one(multilock)(at)))
	}
	return func(ctx context.Context, key string, ttl time.Duration) (*Lease, error) {
		held := &Lease{Context: ctx, Unlock: func(context.Context) error { return nil }}
		for _, tryLock := range locks {
			next, err := tryLock(held.Context, key, ttl)
			if err != nil {
				_ = held.Unlock(ctx)
				return nil, err
			}
			held = held.and(next)
		}
		return held, nil
	}
}
