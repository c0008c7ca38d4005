package contender

import (
	"context"
	"crypto/rand"

	"github.com/redis/go-redis/v9"
)

var spinContender = Contender{Name: "spin", Kind: Peer, open: onGoRedis(spinOn),
	About: "go-redis alone: SET NX in a loop without pause; compare and delete in a script"}

var compareAndDelete = redis.NewScript(
	`if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end return 0`)

func spinOn(rdb redis.UniversalClient) acquire {
	return func(ctx context.Context, key string) (func(context.Context) error, error) {
		token := rand.Text()
		release := func(ctx context.Context) error {
			return compareAndDelete.Run(ctx, rdb, []string{key}, token).Err()
		}
		for ctx.Err() == nil {
			if ok, err := rdb.SetNX(ctx, key, token, ttl).Result(); ok || err != nil {
				return release, err
			}
		}
		return nil, context.Cause(ctx)
	}
}
