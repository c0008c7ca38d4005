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

// contended lists the rungs that notify their waiters, so that the cost of a sale does not grow with their number.
var contended = []string{"v7", "v8"}

// commandsPerSale lets that many buyers on two instances take the lock, read, write and release. It returns the number
// of Redis commands per buyer.
func commandsPerSale(t testing.TB, s *shop, r Rung, waiters int) float64 {
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
			lease, err := at.wait(ctx, key, time.Minute, func(ctx context.Context) (*Lease, error) {
				return at.tryLock(ctx, key, minute)
			})
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

// The cost of a sale does not grow with the number of waiters (pitfall 13).
func TestCommandsPerSaleDoNotGrow(t *testing.T) {
	t.Parallel()
	for _, id := range contended {
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

// BenchmarkContended reports the same figures: go test -run '^$' -bench Contended -benchtime 1x ./internal/lock.
func BenchmarkContended(b *testing.B) {
	for _, id := range contended {
		for _, waiters := range []int{8, 64, 512} {
			b.Run(fmt.Sprintf("%s/%d", id, waiters), func(b *testing.B) {
				s := newShop(b, backendtest.StartEmbedded, 0)
				r, _ := Find(id)
				for b.Loop() {
					b.ReportMetric(commandsPerSale(b, s, r, waiters), "commands/sale")
				}
			})
		}
	}
}
