package contender

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"stockapi/internal/backend"
)

// errSoldOut says that the stock was too small for the measurement.
var errSoldOut = errors.New("sold out")

// openGoRedis returns the client of every contender on go-redis, set up as stockapi's own: 64 connections, no retries.
// It also returns what counts the commands that the client sends.
func openGoRedis(url string) (redis.UniversalClient, *requests, error) {
	rdb, err := backend.Open(url, backend.Options{Timeout: 10 * time.Second, PoolSize: 64})
	if err != nil {
		return nil, nil, err
	}
	sent := &requests{}
	rdb.AddHook(sent)
	return rdb, sent, nil
}

// requests is a hook that counts the commands that a client sends. Those that a script runs are not among them.
type requests struct{ atomic.Int64 }

func (r *requests) DialHook(next redis.DialHook) redis.DialHook { return next }

func (r *requests) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		r.Add(1)
		return next(ctx, cmd)
	}
}

func (r *requests) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, commands []redis.Cmder) error {
		r.Add(int64(len(commands)))
		return next(ctx, commands)
	}
}

// sellOn returns a Sell in two commands, GET and SET.
func sellOn(rdb redis.Cmdable, k Keys) func(context.Context, string, Held) (int64, error) {
	key := k.Stock()
	return func(ctx context.Context, _ string, _ Held) (int64, error) {
		unit, err := rdb.Get(ctx, key).Int64()
		if err != nil {
			return 0, err
		}
		if unit < 1 {
			return 0, errSoldOut
		}
		return unit, rdb.Set(ctx, key, unit-1, redis.KeepTTL).Err()
	}
}
