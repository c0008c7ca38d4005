package lock

import (
	"context"
	"fmt"
	"time"
)

// handoff is v18: fair, and quick for one product that every instance wants. It has v8's queue between instances and
// v15's fencing tokens. The waiters of one instance queue in its memory ([cohort]), and only the first of them asks
// Redis. A release passes the lease on to the next of them and sends no command. After a number of holders, or some
// time, it releases the lock, and another instance has its turn. A lease that is lost ends the work of its holder, and
// the others begin again.
// It is lock cohorting: Dice, Marathe and Shavit, "Lock Cohorting" (PPoPP 2012), with instances in the place of
// processors.
// Defect: that of every lease, but the stock refuses an older token, as on v15. An instance without waiters of its own
// waits for the turns of the others.
func handoff(rt runtime) TryLock { return passingOn(newCohorts(rt, 1)) }

// passingOn returns the lock of v18 and v19.
func passingOn(all *cohorts) TryLock {
	rt := all.runtime
	return func(ctx context.Context, key string, o Options) (*Lease, error) {
		passed, err := all.enter(ctx, key, o)
		if passed != nil || err != nil {
			return passed, err
		}
		token, place, validUntil := newToken(), placeOf(ctx), time.Now().Add(o.TTL-drift(o.TTL))
		free := func(ctx context.Context) error { return releaseHandoff(ctx, rt.Redis, key, token) }
		fence, left, err := acquireHandoff(ctx, rt.Redis, key, token, place, o.TTL)
		if err != nil {
			all.refused(ctx, key)
			all.undo(ctx, err, key, place, free)
			return nil, fmt.Errorf("acquire: %w", err)
		}
		if fence == 0 {
			all.refused(ctx, key)
			return nil, busyFor{left}
		}
		if time.Now().After(validUntil) { // the reply was so late that the lease has expired
			all.refused(ctx, key)
			_ = rt.releaseOrSweep(ctx, free)
			return nil, busyFor{}
		}
		outlasting := context.WithoutCancel(ctx) // the lease outlasts the order that took it
		work, stop := rt.keepAlive(outlasting, o, o.TTL/2, validUntil, func(tick context.Context) (bool, error) {
			return renew(tick, rt.Redis, key, token, o.TTL)
		})
		lease := &passedLease{work: leaseOf(work), token: token, fence: fence, wanted: o}
		lease.release = func(ctx context.Context) error {
			stop()
			return rt.releaseOrSweep(ctx, free)
		}
		return all.acquired(ctx, key, lease), nil
	}
}
