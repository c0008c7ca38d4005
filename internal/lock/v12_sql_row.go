package lock

import (
	"context"
	"fmt"
	"time"
)

// sqlRow is v12: the lock is a row under a unique key in an SQL database, with its owner, how often the owner holds it,
// and when it expires by the database's clock. For a shop that has a database and no Redis: one statement takes the row
// if it is free or has expired, one gives it back if it is ours. No statement relies on its connection being that of the
// one before, so any pool will do.
// Defect: the database is the lock server. Every try of every waiter is a write that it has to put in order with all
// others, and without the database nobody sells. Like every lease it ends under a holder that is paused.
func sqlRow(b Backends) TryLock {
	rows := &table{db: b.SQL}
	b.sweepRows(rows)
	return func(ctx context.Context, key string, ttl time.Duration) (*Lease, error) {
		caller, validUntil := ownerOf(ctx), time.Now().Add(ttl-drift(ttl))
		owner, before := caller.hold(key)
		acquire := rows.again
		if before == 0 {
			owner, acquire = rows.owner(owner), rows.acquire
		}
		free := func(ctx context.Context) error { return rows.release(ctx, key, owner, before) }
		ok, err := acquire(ctx, key, owner, ttl)
		if err != nil {
			b.undo(ctx, err, free)
			return nil, fmt.Errorf("acquire: %w", err)
		}
		if !ok {
			return nil, ErrBusy
		}
		if time.Now().After(validUntil) { // the answer took so long that the lease has ended
			_ = b.giveBack(ctx, free)
			return nil, ErrBusy
		}
		stop := func() {}
		if before == 0 { // a hold inside of another lives by the other's lease
			ctx, stop = b.keepAlive(ctx, ttl, ttl/2, validUntil, func(tick context.Context) (bool, error) {
				return rows.renew(tick, key, owner, ttl)
			})
		}
		caller.took(key, owner)
		unlock := func(ctx context.Context) error {
			left := caller.gave(key)
			stop()
			return b.giveBack(ctx, func(ctx context.Context) error { return rows.release(ctx, key, owner, left) })
		}
		return &Lease{Context: ctx, Token: owner, Unlock: unlock}, nil
	}
}
