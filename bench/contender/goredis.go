package contender

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"stockapi/internal/backend"
	"stockapi/internal/stock"
)

// errSoldOut says that the stock was too small for the measurement.
var errSoldOut = errors.New("sold out")

// openGoRedis returns the client of every contender on go-redis, set up as stockapi's own: 64 connections, no retries.
func openGoRedis(url string) (redis.UniversalClient, error) {
	return backend.Open(url, backend.Options{Timeout: 10 * time.Second, PoolSize: 64})
}

// An acquire waits for a lock, and returns what releases it.
type acquire func(ctx context.Context, key string) (release func(context.Context) error, err error)

// onGoRedis opens a contender that differs from the others in its lock alone.
func onGoRedis(lockOn func(redis.UniversalClient) acquire) func(Settings) (*Client, error) {
	return func(s Settings) (*Client, error) {
		rdb, err := openGoRedis(s.URL)
		if err != nil {
			return nil, err
		}
		lock := lockOn(rdb)
		return &Client{
			Lock: func(ctx context.Context, key string) (Held, error) {
				release, err := lock(ctx, key)
				return Held{Context: ctx, Release: release}, err
			},
			Sell:  func(ctx context.Context, _ Held) (int64, error) { return sellOn(ctx, rdb, stock.Key(s.Product())) },
			Close: func() { _ = rdb.Close() },
		}, nil
	}
}

// sellOn sells in two commands, GET and SET.
func sellOn(ctx context.Context, rdb redis.Cmdable, key string) (unit int64, err error) {
	unit, err = rdb.Get(ctx, key).Int64()
	if err != nil {
		return 0, err
	}
	if unit < 1 {
		return 0, errSoldOut
	}
	return unit, rdb.Set(ctx, key, unit-1, redis.KeepTTL).Err()
}
