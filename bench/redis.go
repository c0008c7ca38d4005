package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"stockapi/internal/backend"
	"stockapi/internal/stock"
)

// A server is the Redis that everything runs on, as the program itself asks it.
type server struct {
	url string
	rdb redis.UniversalClient
}

// reach returns a server. Its client connects when it is first used.
func reach(url string) (*server, error) {
	rdb, err := backend.Open(url, backend.Options{Timeout: 5 * time.Second, PoolSize: 2})
	return &server{url, rdb}, err
}

// left returns how many units of a product are left.
func (s *server) left(ctx context.Context, product string) (int64, error) {
	left, err := stock.NewShelf(s.rdb).Left(ctx, product)
	if errors.Is(err, stock.ErrNoProduct) {
		err = fmt.Errorf("the stock has gone: did somebody else empty that Redis, or does it evict keys? %w", err)
	}
	return left, err
}

// commands returns how many commands the server has executed, also those that scripts call; 0 if it does not say. Its
// total_commands_processed has no commands of scripts.
func (s *server) commands(ctx context.Context) (sum int64) {
	for line := range strings.Lines(s.rdb.Info(ctx, "commandstats").Val()) {
		name, stats, _ := strings.Cut(strings.TrimPrefix(line, "cmdstat_"), ":calls=")
		count, _, _ := strings.Cut(stats, ",")
		if n, err := strconv.ParseInt(count, 10, 64); err == nil && name != "info" { // which is our own
			sum += n
		}
	}
	return sum
}

// clean removes all keys that contain a prefix: locks put it into other names.
func (s *server) clean(ctx context.Context, prefix string) error {
	keys := s.rdb.Scan(ctx, 0, "*"+prefix+"*", 1000).Iterator()
	for keys.Next(ctx) {
		if err := s.rdb.Del(ctx, keys.Val()).Err(); err != nil {
			return fmt.Errorf("remove the keys of the measurement: %w", err)
		}
	}
	return keys.Err()
}
