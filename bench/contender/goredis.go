package contender

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"stockapi/internal/backend"
)

// errSoldOut says that the stock was too small for the measurement.
var errSoldOut = errors.New("sold out")

// openGoRedis returns the client of every contender on go-redis, set up as stockapi's own: 64 connections, no retries.
func openGoRedis(url string) (redis.UniversalClient, error) {
	return backend.Open(url, backend.Options{Timeout: 10 * time.Second, PoolSize: 64})
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
