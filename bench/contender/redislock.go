package contender

import (
	"context"
	"time"

	"github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"
)

var redislockContender = Contender{Name: "redislock", Kind: Peer, open: onGoRedis(redislockOn),
	About: "bsm/redislock with LinearBackoff(1ms): waiters try again every millisecond"}

func redislockOn(rdb redis.UniversalClient) acquire {
	locks := redislock.New(rdb)
	options := &redislock.Options{RetryStrategy: redislock.LinearBackoff(time.Millisecond)}
	return func(ctx context.Context, key string) (func(context.Context) error, error) {
		l, err := locks.Obtain(ctx, key, ttl, options)
		if err != nil {
			return nil, err
		}
		return l.Release, nil
	}
}
