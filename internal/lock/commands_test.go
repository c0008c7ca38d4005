package lock

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"

	"stockapi/internal/backend/backendtest"
)

// commandsPerSale lets that many buyers on two instances take the lock, read, write and release. It returns the number
// of Redis commands per buyer.
func commandsPerSale(t *testing.T, s *shop, r Rung, waiters int) float64 {
	t.Helper()
	var commands atomic.Int64
	count := hook(func(ctx context.Context, _ redis.Cmder, next send) error {
		commands.Add(1)
		return next(ctx)
	})
	a, b := s.instance(t, r, count), s.instance(t, r, count)
	key := fmt.Sprint("k", waiters)
	assert.NoError(t, a.lock(t, key, time.Minute).Unlock(context.Background())) // loads the scripts
	first := a.lock(t, key, time.Minute)
	commands.Store(0)
	var buyers sync.WaitGroup
	for i := range waiters {
		at := []*instance{a, b}[i%2]
		buyers.Go(func() {
			ctx := context.Background()
			lease, err := at.acquire(ctx, key, time.Minute, minute)
			if assert.NoError(t, err) {
				_ = at.Redis.Get(ctx, "stock").Err()
				_ = at.Redis.Set(ctx, "stock", i, 0).Err()
				assert.NotErrorIs(t, lease.Unlock(ctx), ErrLost) // with hundreds waiting, a slow server may answer too late
			}
		})
	}
	for commands.Load() < int64(2*waiters) { // each has tried twice: all of them wait
		time.Sleep(time.Millisecond)
	}
	assert.NotErrorIs(t, first.Unlock(context.Background()), ErrLost)
	buyers.Wait()
	return float64(commands.Load()) / float64(waiters)
}

// The cost of a sale does not grow with the number of waiters (pitfall 13), on the rungs that notify them.
func TestCommandsPerSaleDoNotGrow(t *testing.T) {
	backendtest.Long(t)
	t.Parallel()
	for _, id := range []string{"v7", "v8"} {
		t.Run(id, func(t *testing.T) {
			onEachShop(t, id, 0, func(t *testing.T, s *shop, r Rung) {
				few := commandsPerSale(t, s, r, 8)
				some := commandsPerSale(t, s, r, 64)
				most := 512
				if s.redis.Kind == backendtest.Embedded {
					most = 64 // it is too slow for more
				}
				many := commandsPerSale(t, s, r, most)
				t.Logf("%.1f commands per sale with 8 waiters, %.1f with 64, %.1f with %d", few, some, many, most)
				assert.LessOrEqual(t, some, 12.0)
				assert.LessOrEqual(t, many, 1.5*few, "8 to %d waiters", most)
			})
		})
	}
}
