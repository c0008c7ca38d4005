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

// Reach returns a server. Its client connects when it is first used.
func Reach(url string) (*Server, error) {
	rdb, err := backend.Open(url, backend.Options{Timeout: 5 * time.Second, PoolSize: 2})
	return &Server{URL: url, rdb: rdb}, err
}

// Ping returns an error if the server does not answer.
func (s *Server) Ping(ctx context.Context) error { return backend.Ping(ctx, s.rdb) }

// Close closes the connections.
func (s *Server) Close() { _ = s.rdb.Close() }

// Commands returns how many commands the server has executed, also those that scripts call; 0 if it does not say. Its
// total_commands_processed has no commands of scripts.
func (s *Server) Commands(ctx context.Context) (sum int64) {
	for line := range strings.Lines(s.rdb.Info(ctx, "commandstats").Val()) {
		name, stats, _ := strings.Cut(strings.TrimPrefix(line, "cmdstat_"), ":calls=")
		count, _, _ := strings.Cut(stats, ",")
		if n, err := strconv.ParseInt(count, 10, 64); err == nil && name != "info" { // which is our own
			sum += n
		}
	}
	return sum
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
