package contender

import (
	"context"
	"crypto/rand"
	"errors"

	"github.com/redis/go-redis/v9"
)

var (
	spinContender = Contender{Name: "spin", Kind: Peer,
		About: "go-redis alone: SET NX in a loop without pause; compare and delete in a script",
		open: func(s Settings) (*Client, error) {
			return openSpin(s, func(rdb *redis.Client) (redis.Cmdable, error) { return rdb, nil })
		}}
	pipelinedContender = Contender{Name: "spin-pipelined", Kind: Peer,
		About: "the same over go-redis' automatic pipelining (experimental): one connection for all workers",
		open: func(s Settings) (*Client, error) {
			return openSpin(s, func(rdb *redis.Client) (redis.Cmdable, error) { return rdb.AutoPipeline() })
		}}
)

var compareAndDelete = redis.NewScript(
	`if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end return 0`)

func openSpin(s Settings, face func(*redis.Client) (redis.Cmdable, error)) (*Client, error) {
	opened, sent, err := openGoRedis(s.URL)
	if err != nil {
		return nil, err
	}
	single, ok := opened.(*redis.Client)
	if !ok {
		_ = opened.Close()
		return nil, errors.New("needs a single Redis, and no Cluster")
	}
	rdb, err := face(single)
	if err != nil {
		_ = opened.Close()
		return nil, err
	}
	acquire := func(ctx context.Context, key string) (Held, error) {
		token, err := spin(ctx, rdb, key)
		return Held{Context: ctx, Release: func(ctx context.Context) error {
			return compareAndDelete.Run(ctx, rdb, []string{key}, token).Err()
		}}, err
	}
	return &Client{Lock: acquire, Sell: sellOn(rdb, s.Keys), Requests: sent.Load,
		Close: func() { _ = opened.Close() }}, nil
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
