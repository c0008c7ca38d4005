package contender

import (
	"context"
	"crypto/rand"

	"github.com/redis/go-redis/v9"
)

var spinContender = Contender{Name: "spin", Kind: Peer, open: openSpin,
	About: "go-redis alone: SET NX in a loop without pause; compare and delete in a script"}

var compareAndDelete = redis.NewScript(
	`if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end return 0`)

func openSpin(s Settings) (*Client, error) {
	rdb, err := openGoRedis(s.URL)
	if err != nil {
		return nil, err
	}
	acquire := func(ctx context.Context, key string) (Held, error) {
		token, err := spin(ctx, rdb, key)
		return Held{Context: ctx, Release: func(ctx context.Context) error {
			return compareAndDelete.Run(ctx, rdb, []string{key}, token).Err()
		}}, err
	}
	return &Client{Lock: acquire, Sell: sellOn(rdb, s.Keys), Close: func() { _ = rdb.Close() }}, nil
}

func spin(ctx context.Context, rdb redis.Cmdable, key string) (token string, err error) {
	token = rand.Text()
	for {
		ok, err := rdb.SetNX(ctx, key, token, ttl).Result()
		if ok || err != nil {
			return token, err
		}
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
	}
}
