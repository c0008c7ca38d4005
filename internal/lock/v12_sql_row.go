package lock

import (
	"context"
	"fmt"
	"time"
)

// sqlRow is v12: the lock is a row under a unique key in an SQL database, with its owner, a count, and its expiry by
// the database's clock. It is for a shop that has a database and no Redis. One statement takes the row if it is free or
// has expired, and one releases it if it is ours. No statement needs the connection of the one before, so any pool will
// do.
// Defect: the database is the lock server. Every try of every waiter is a write, which it has to order with all others.
// Without the database nobody sells. Like every lease, it expires under a holder that is paused.
func sqlRow(rt runtime) TryLock {
	rows := &table{db: rt.SQL}
	rt.sweepRows(rows)
	return func(ctx context.Context, key string, o Options) (*Lease, error) {
		caller, validUntil := o.owner(), time.Now().Add(o.TTL-drift(o.TTL))
		owner, depth := caller.lookup(key)
		acquire := rows.reacquire
		if depth == 0 {
			owner, acquire = rows.owner(owner), rows.acquire
		}
		free := func(ctx context.Context) error { return rows.release(ctx, key, owner, depth) }
		ok, err := acquire(ctx, key, owner, o.TTL)
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
		stop := func() {}
		if depth == 0 { // a nested acquire shares the outer lease
			ctx, stop = rt.keepAlive(ctx, o, o.TTL/2, validUntil, func(tick context.Context) (bool, error) {
				return rows.renew(tick, key, owner, o.TTL)
			})
		}
		caller.enter(key, owner)
		unlock := func(ctx context.Context) error {
			left := caller.exit(key)
			stop()
			return rt.releaseOrSweep(ctx, func(ctx context.Context) error { return rows.release(ctx, key, owner, left) })
		}
		return &Lease{Context: ctx, Token: owner, unlock: unlock}, nil
	}
}
