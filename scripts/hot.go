//go:build ignore

// Hot lets many workers sell one product under one lock, and prints how many units they sold in a time. It uses only
// what all revisions of the ladder have: scripts/bench-since builds it at two of them.
//
//	go run scripts/hot.go URL RUNG KEY WORKERS LENGTH
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"stockapi/internal/backend"
	"stockapi/internal/lock"
)

const (
	warmUp = 300 * time.Millisecond
	ttl    = 30 * time.Second
	units  = 1_000_000_000
)

func main() {
	sold, err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "hot:", err)
		os.Exit(1)
	}
	fmt.Println(sold)
}

// run returns how many units were sold in the time.
func run(args []string) (int64, error) {
	if len(args) != 5 {
		return 0, fmt.Errorf("name a Redis, a rung, a key, a number of workers and a length")
	}
	workers, err := strconv.Atoi(args[3])
	if err != nil {
		return 0, err
	}
	length, err := time.ParseDuration(args[4])
	if err != nil {
		return 0, err
	}
	rdb, err := backend.Open(args[0], backend.Options{Timeout: 10 * time.Second, PoolSize: 64})
	if err != nil {
		return 0, err
	}
	s := &shop{rdb: rdb, key: args[2], stock: args[2] + ":stock"}
	if err := rdb.SetNX(context.Background(), s.stock, units, time.Hour).Err(); err != nil {
		return 0, err
	}
	life, end := context.WithCancel(context.Background())
	defer end()
	var b lock.Backends
	b.Redis, b.Life, b.Background = rdb, life, new(sync.WaitGroup)
	for _, r := range lock.Ladder() {
		if r.Number == args[1] {
			s.try, s.wait = r.Build(b)
			return s.sell(life, workers, length)
		}
	}
	return 0, fmt.Errorf("there is no rung %s", args[1])
}

type shop struct {
	rdb        redis.UniversalClient
	key, stock string
	try        lock.TryLock
	wait       lock.Waiting
	sold       atomic.Int64
}

// sell lets the workers work, and counts after a warm-up. Those that wait at the end are left waiting.
func (s *shop) sell(ctx context.Context, workers int, length time.Duration) (int64, error) {
	failed := make(chan error, workers)
	for range workers {
		go func() {
			for {
				if err := s.once(ctx); err != nil {
					failed <- err
					return
				}
			}
		}()
	}
	time.Sleep(warmUp)
	before := s.sold.Load()
	select {
	case err := <-failed:
		return 0, err
	case <-time.After(length):
		return s.sold.Load() - before, nil
	}
}

// once sells one unit.
func (s *shop) once(ctx context.Context) error {
	lease, err := s.wait(ctx, s.key, time.Hour, func(ctx context.Context) (*lock.Lease, error) {
		return s.try(ctx, s.key, ttl)
	})
	if err != nil {
		return err
	}
	left, err := s.rdb.Get(lease.Context, s.stock).Int64()
	if err != nil {
		return err
	}
	if err := s.rdb.Set(lease.Context, s.stock, left-1, redis.KeepTTL).Err(); err != nil {
		return err
	}
	if err := lease.Unlock(ctx); err != nil {
		return err
	}
	s.sold.Add(1)
	return nil
}
