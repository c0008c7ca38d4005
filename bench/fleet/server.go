package fleet

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"stockapi/internal/backend"
)

// A Server is the Redis that everything runs on, as the program itself asks it.
type Server struct {
	URL string
	rdb redis.UniversalClient
}

// Reach connects to a Redis.
func Reach(ctx context.Context, url string) (*Server, error) {
	rdb, err := backend.Open(url, backend.Options{Timeout: 5 * time.Second, PoolSize: 2})
	if err != nil {
		return nil, err
	}
	if err := backend.Ping(ctx, rdb); err != nil {
		_ = rdb.Close()
		return nil, err
	}
	return &Server{URL: url, rdb: rdb}, nil
}

// Close closes the connections.
func (s *Server) Close() { _ = s.rdb.Close() }

// Version returns the version of the server, or "of unknown version".
func (s *Server) Version(ctx context.Context) string {
	for line := range strings.Lines(s.rdb.Info(ctx, "server").Val()) {
		if version, ok := strings.CutPrefix(line, "redis_version:"); ok {
			return strings.TrimSpace(version)
		}
	}
	return "of unknown version"
}

// A Count counts the executions of each command until a moment, also those by scripts.
type Count struct {
	at    time.Time
	calls map[string]int64 // nil: the server does not count
}

// Count asks the server. Our own INFO is not counted.
func (s *Server) Count(ctx context.Context) Count {
	info, err := s.rdb.Info(ctx, "commandstats").Result()
	c := Count{at: time.Now()}
	if err != nil || !strings.Contains(info, "cmdstat_") {
		return c
	}
	c.calls = map[string]int64{}
	for line := range strings.Lines(info) {
		name, stats, _ := strings.Cut(strings.TrimPrefix(line, "cmdstat_"), ":calls=")
		count, _, _ := strings.Cut(stats, ",")
		if n, err := strconv.ParseInt(count, 10, 64); err == nil && name != "info" {
			c.calls[name] = n
		}
	}
	return c
}

// PerSecond returns the rate of each command between two counts, or nil. The counts may come late on a busy machine, so
// the time between them is measured.
func (c Count) PerSecond(before Count) map[string]float64 {
	if c.calls == nil || before.calls == nil {
		return nil
	}
	rates := map[string]float64{}
	for name, n := range c.calls {
		if n > before.calls[name] {
			rates[name] = float64(n-before.calls[name]) / c.at.Sub(before.at).Seconds()
		}
	}
	return rates
}

// Clean removes all keys that contain a prefix: locks put it into other names.
func (s *Server) Clean(ctx context.Context, prefix string) error {
	keys := s.rdb.Scan(ctx, 0, "*"+prefix+"*", 1000).Iterator()
	for keys.Next(ctx) {
		if err := s.rdb.Del(ctx, keys.Val()).Err(); err != nil {
			return fmt.Errorf("remove the keys of the measurement: %w", err)
		}
	}
	return keys.Err()
}
