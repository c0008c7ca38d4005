package contender

import (
	"context"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

// redsyncContender is redsync on one node, with its own delays of 50 to 250 ms between tries. Its default of 32 tries
// would give up; here a waiter tries until it gets the lock.
var redsyncContender = Contender{Name: "redsync", Kind: Peer, open: onGoRedis(redsyncOn),
	About: "redsync on one node: waiters try again after 50 to 250 ms, its default"}

func redsyncOn(rdb redis.UniversalClient) acquire {
	rs := redsync.New(goredis.NewPool(rdb))
	return func(ctx context.Context, key string) (func(context.Context) error, error) {
		m := rs.NewMutex(key, redsync.WithExpiry(ttl), redsync.WithTries(1_000_000))
		release := func(ctx context.Context) error {
			_, err := m.UnlockContext(ctx)
			return err
		}
		return release, m.LockContext(ctx)
	}
}
