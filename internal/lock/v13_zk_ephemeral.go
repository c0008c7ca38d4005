package lock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"
)

// zkEphemeral is v13: the lock is an ephemeral node of ZooKeeper, which ends with the session of who made it. Nobody
// has to guess how long the work takes, and there is no TTL: ttl does not count. Beside the lock lies a node of the
// lease's own name, made and removed with it in one transaction: by that a lease knows its lock, also when the reply
// to the create was lost, and never removes another's. The fencing token is the number of that transaction, which
// grows for as long as the ensemble keeps its data.
// Defect: all who wait are told of a release, and one of them gets in: the thundering herd. And a paused client's
// session ends without its knowing.
func zkEphemeral(b Backends) TryLock {
	z := zkNodes{b, ephemeralIn}
	return overSessions(func(ctx context.Context, key string, _ time.Duration) (*Lease, error) {
		token, begun := newToken(), time.Now()
		lock, own := z.of(key)+"/lock", z.of(key)+"/"+token
		made, err := z.make(ctx, z.of(key), token, zk.FlagEphemeral, lock, own)
		if unclear(err) {
			made.Zxid, err = z.recognise(ctx, err, lock, own)
		}
		switch {
		case errors.Is(err, zk.ErrNodeExists):
			return nil, ErrBusy
		case err != nil:
			return nil, fmt.Errorf("acquire: %w", err)
		case time.Now().After(z.validUntil(begun)): // the session may have ended before we heard of it
			ctx, cancel := detach(ctx)
			defer cancel()
			_ = z.remove(ctx, lock, own)
			return nil, ErrBusy
		}
		ctx, stop := z.keep(ctx, begun, own)
		unlock := func(ctx context.Context) error {
			stop()
			return z.remove(ctx, lock, own)
		}
		return &Lease{Context: ctx, Token: token, Fence: made.Zxid, Unlock: unlock}, nil
	})
}

// recognise looks whether the nodes were made although no reply said so. If they were not, or that cannot be known
// either, they are removed as soon as they can be.
func (z zkNodes) recognise(ctx context.Context, why error, lock, own string) (zxid int64, err error) {
	ctx, cancel := detach(ctx)
	defer cancel()
	err = z.ZooKeeper.Sync(ctx, own)
	if err == nil {
		var found bool
		if zxid, found, err = z.ours(ctx, own); err == nil && found {
			return zxid, nil
		}
	}
	z.sweepLate(ctx, func(ctx context.Context) error { return z.ZooKeeper.Delete(ctx, lock, own) })
	return 0, why
}

// untilRemoved is how v13 waits: until the lock's node is gone.
func (z zkNodes) untilRemoved(ctx context.Context, key string, patience time.Duration, attempt Attempt) (*Lease, error) {
	return repeat(ctx, patience, attempt, func(ctx context.Context, deadline time.Time) bool {
		return z.awaitRemoval(ctx, z.of(key)+"/lock", deadline)
	})
}
