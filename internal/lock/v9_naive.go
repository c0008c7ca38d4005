package lock

import (
	"context"
	"errors"
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

// and returns a lease that stands for both. The next one was taken under the context of the first, so its context ends
// when either is lost.
func (l *Lease) and(next *Lease) *Lease {
	return &Lease{Context: next.Context, Token: next.Token, Unlock: func(ctx context.Context) error {
		return errors.Join(next.Unlock(ctx), l.Unlock(ctx))
	}}
}
