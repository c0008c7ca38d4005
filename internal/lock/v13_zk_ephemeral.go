package lock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"
)

// zkEphemeral is v13: the lock is an ephemeral node of ZooKeeper, which ends with the session that created it. It has
// no TTL, so nothing depends on how long the work takes, and the TTL of a request is ignored. One transaction creates
// the lock and a node with the lease's own name, and one removes both. By that name a lease recognises its lock, even
// when the reply to the create was lost, and it never removes another's. The fencing token is the number of the
// creating transaction, which grows for as long as the ensemble keeps its data.
// Defect: a release wakes all waiters, and one of them gets in: the thundering herd. And the session of a paused client
// ends without the client noticing.
func zkEphemeral(rt runtime) TryLock {
	z := zkNodes{rt, ephemeralIn}
	return retryOverSessions(func(ctx context.Context, key string, _ Options) (*Lease, error) {
		token, start := newToken(), time.Now()
		lock, own := z.of(key)+"/lock", z.of(key)+"/"+token
		created, err := z.create(ctx, z.of(key), token, zk.FlagEphemeral, lock, own)
		if indeterminate(err) {
			created.Zxid, err = z.resolveCreate(ctx, err, lock, own)
		}
		switch {
		case errors.Is(err, zk.ErrNodeExists):
			return nil, ErrBusy
		case err != nil:
			return nil, fmt.Errorf("acquire: %w", err)
		case time.Now().After(z.validUntil(start)): // the session may have ended before the reply
			_ = z.remove(detach(ctx), lock, own)
			return nil, ErrBusy
		}
		ctx, stop := z.keepLease(ctx, start, own)
		unlock := func(ctx context.Context) error {
			stop()
			return z.remove(ctx, lock, own)
		}
		return &Lease{Context: ctx, Token: token, Fence: created.Zxid, unlock: unlock,
			forget: z.forgetting(z.of(key), unlock)}, nil
	})
}

// resolveCreate looks for the nodes after an indeterminate create. If they do not exist, or if that is indeterminate
// too, a sweep removes them as soon as it can.
func (z zkNodes) resolveCreate(ctx context.Context, why error, lock, own string) (zxid int64, err error) {
	ctx = detach(ctx)
	err = z.ZooKeeper.Sync(ctx, own)
	if err == nil {
		var found bool
		if zxid, found, err = z.findOwned(ctx, own); err == nil && found {
			return zxid, nil
		}
	}
	z.sweepLate(ctx, func(ctx context.Context) error { return z.ZooKeeper.Delete(ctx, lock, own) })
	return 0, why
}

// untilRemoved is the [Waiting] of v13: it waits until the lock's node is gone.
func (z zkNodes) untilRemoved(
	ctx context.Context, key string, maxWait time.Duration, attempt Attempt,
) (*Lease, error) {
	return repeat(ctx, maxWait, attempt, func(ctx context.Context, deadline time.Time) bool {
		return z.awaitRemoval(ctx, z.of(key)+"/lock", deadline)
	})
}
