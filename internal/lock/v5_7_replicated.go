package lock

import (
	"context"
	"fmt"
	"time"
)

// replicated is v5.7: v5.5 that enters only when WAIT says that enough replicas have the key. Otherwise it releases the
// key and is refused. So a failover to one of these replicas does not lose the lock. [Backends.Replicas] says how many
// are enough. It is a setting, because a primary that is cut off from its replicas counts none. With 0, for a Redis
// without replicas, this is v5.5.
//
// A renewal counts on the same condition: otherwise a promoted replica could end the lease before its holder does. A
// release need not be replicated: at worst the lock lasts until its TTL.
// Defect: WAIT does not decide which replica is promoted. When one of two replicas has the key, the other one may be
// promoted, as in Redisson, which enters when one replica has confirmed. When both are asked for, one that lags or is
// down stops the shop.
func replicated(rt runtime) TryLock {
	return func(ctx context.Context, key string, o Options) (*Lease, error) {
		token, validUntil := newToken(), time.Now().Add(o.TTL-drift(o.TTL))
		free := func(ctx context.Context) error { return release(ctx, rt.Redis, key, token) }
		ok, err := rt.setNXAndWait(ctx, key, token, o.TTL)
		if err != nil {
			rt.undo(ctx, err, free)
			return nil, fmt.Errorf("acquire: %w", err)
		}
		if !ok {
			return nil, ErrBusy
		}
		if time.Now().After(validUntil) { // the reply was so late that the lease has expired
			_ = rt.releaseOrSweep(ctx, free)
			return nil, ErrBusy
		}
		renewal := func(tick context.Context) (bool, error) { return rt.renewAndWait(tick, key, token, o.TTL) }
		ctx, stop := rt.keepAlive(ctx, o, o.TTL/2, validUntil, atMost(rt.MaxRenewals, renewal))
		unlock := func(ctx context.Context) error {
			stop()
			return rt.releaseOrSweep(ctx, free)
		}
		return &Lease{Context: ctx, Token: token, unlock: unlock}, nil
	}
}
