package lock

import (
	"context"
	"time"
)

// oneByOne is v9-naive, an exhibit: the locks of v9 as one would first write it, a lock inside a lock. It takes them in
// the order in which the products were named, and holds those that it has while it waits for the next.
// Defect: two orders that name two products in opposite orders deadlock: each holds the lock that the other waits for.
// Both leases are renewed, so only the limit of a wait ends this. Until then no other order gets either product.
func oneByOne(
	order, waiting context.Context, keys []string, maxWait time.Duration, wait Waiting, try AttemptAll,
) (*Lease, error) {
	held := &Lease{Context: order}
	deadline := time.Now().Add(maxWait)
	for _, key := range keys {
		next, err := wait(waiting, key, time.Until(deadline), func(context.Context) (*Lease, error) {
			return try(held.Context, key)
		})
		if err != nil {
			if lost := context.Cause(held.Context); lost != nil {
				err = lost
			}
			_ = held.Unlock(order)
			return nil, err
		}
		held = held.combine(next)
	}
	return held, nil
}
