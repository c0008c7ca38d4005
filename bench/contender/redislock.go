package contender

import (
	"context"
	"time"

	"github.com/bsm/redislock"
)

var redislockContender = Contender{Name: "redislock", Kind: Peer, open: openRedislock,
	About: "bsm/redislock with LinearBackoff(1ms): waiters try again every millisecond"}

func openRedislock(s Settings) (*Client, error) {
	rdb, err := openGoRedis(s.URL)
	if err != nil {
		return nil, err
	}
	locks := redislock.New(rdb)
	options := &redislock.Options{RetryStrategy: redislock.LinearBackoff(time.Millisecond)}
	acquire := func(ctx context.Context, key string) (Held, error) {
		l, err := locks.Obtain(ctx, key, ttl, options)
		if err != nil {
			return Held{}, err
		}
		return Held{Context: ctx, Release: l.Release}, nil
	}
	return &Client{Lock: acquire, Sell: sellOn(rdb, s.Keys), Close: func() { _ = rdb.Close() }}, nil
}
