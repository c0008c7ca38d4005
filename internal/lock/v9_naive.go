package lock

import (
	"context"
	"time"
)

// oneByOne is v9-naive, an exhibit: the locks of v9, but taken as one would write it down at first, a lock around a
// lock. They are taken in the order in which the products were named, and each is waited for while the ones before it
// are held.
// Defect: two orders that name two products in opposite orders each hold what the other waits for. Both leases are
// renewed, so what ends this is a wait that is over, and until then nobody else gets either product.
func oneByOne(
	order, waiting context.Context, keys []string, patience time.Duration, wait Waiting, try AttemptAll,
) (*Lease, error) {
	held := &Lease{Context: order, Unlock: func(context.Context) error { return nil }}
	deadline := time.Now().Add(patience)
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
		held = held.and(next)
	}
	return held, nil
}
