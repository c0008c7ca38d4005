package contender

import (
	"context"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
)

// redsyncContender is redsync on one node, with its own delays of 50 to 250 ms between tries. Its default of 32 tries
// would give up; here a waiter tries until it gets the lock.
var redsyncContender = Contender{Name: "redsync", Kind: Peer, open: openRedsync,
	About: "redsync on one node: waiters try again after 50 to 250 ms, its default"}

func openRedsync(s Settings) (*Client, error) {
	rdb, err := openGoRedis(s.URL)
	if err != nil {
		return nil, err
	}
	rs := redsync.New(goredis.NewPool(rdb))
	acquire := func(ctx context.Context, key string) (Held, error) {
		m := rs.NewMutex(key, redsync.WithExpiry(ttl), redsync.WithTries(1_000_000))
		if err := m.LockContext(ctx); err != nil {
			return Held{}, err
		}
		return Held{Context: ctx, Release: func(ctx context.Context) error {
			_, err := m.UnlockContext(ctx)
			return err
		}}, nil
	}
	return &Client{Lock: acquire, Sell: sellOn(rdb, s.Keys), Close: func() { _ = rdb.Close() }}, nil
}
