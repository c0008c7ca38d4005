package lock

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/backend/backendtest"
)

// awaitQueue waits until so many waiters are in the queue.
func awaitQueue(t *testing.T, bare redis.UniversalClient, key string, waiters int64) {
	t.Helper()
	require.Eventually(t, func() bool {
		return bare.LLen(context.Background(), queueOf(key)).Val() == waiters
	}, 5*time.Second, time.Millisecond, "%d in the queue", waiters)
}

// First come, first served, on any instance, ten times in a row.
func TestFairServesInTheOrderOfArrival(t *testing.T) {
	backendtest.Long(t)
	t.Parallel()
	onEach(t, "v8", func(t *testing.T, a, b *instance, bare redis.UniversalClient) {
		for range 10 {
			first := a.lock(t, "k", time.Minute)
			var mu sync.Mutex
			var served []int
			var waiters sync.WaitGroup
			for i := range 50 {
				at := []*instance{a, b}[i%2]
				waiters.Go(func() {
					lease := <-at.waitFor(context.Background(), "k", minute)
					mu.Lock()
					served = append(served, i)
					mu.Unlock()
					unlock(t, lease)
				})
				awaitQueue(t, bare, "k", int64(i+1))
			}
			unlock(t, first)
			waiters.Wait()
			for i, n := range served {
				require.Equal(t, i, n, "served %v", served)
			}
			assert.Zero(t, bare.Exists(context.Background(), "k", queueOf("k"), deadlinesOf("k")).Val(), "nothing is left")
		}
	})
}

// Pitfall 14: a dead waiter is skipped when its place has expired. A live one is never skipped, even if it waits long.
func TestFairSkipsTheDead(t *testing.T) {
	t.Parallel()
	onEach(t, "v8", func(t *testing.T, a, b *instance, bare redis.UniversalClient) {
		ctx := context.Background()
		lease := a.lock(t, "k", time.Minute)
		require.NoError(t, bare.RPush(ctx, queueOf("k"), "died").Err())
		require.NoError(t, bare.ZAdd(ctx, deadlinesOf("k"), redis.Z{
			Score: float64(bare.Time(ctx).Val().Add(placeTTL).UnixMilli()), Member: "died",
		}).Err())
		got := b.waitFor(ctx, "k", minute)
		awaitQueue(t, bare, "k", 2)
		start := time.Now()
		unlock(t, lease)
		lease = <-got
		require.NotNil(t, lease)
		assert.Less(t, time.Since(start), placeTTL+heartbeat+margin)
		unlock(t, lease)
	})
}

func TestFairNeverEvictsTheLiving(t *testing.T) {
	t.Parallel()
	onEach(t, "v8", func(t *testing.T, a, b *instance, bare redis.UniversalClient) {
		ctx := context.Background()
		assert.True(t, askAgain(t, true, func(time.Duration) bool {
			lease := a.lock(t, "k", time.Minute)
			got := b.waitFor(ctx, "k", minute)
			awaitQueue(t, bare, "k", 1)
			place := bare.LIndex(ctx, queueOf("k"), 0).Val()
			time.Sleep(placeTTL + heartbeat)
			assert.False(t, a.tryOnce(t, "k"), "this would evict a dead waiter")
			kept := bare.LIndex(ctx, queueOf("k"), 0).Val()
			unlock(t, lease)
			unlock(t, <-got)
			return kept == place
		}))
	})
}

// Pitfall 15: a waiter that gives up leaves the queue, and the next one is notified. If nobody releases, the end of the
// lease lets the first one in.
func TestFairLeavesNoGap(t *testing.T) {
	t.Parallel()
	onEach(t, "v8", func(t *testing.T, a, b *instance, bare redis.UniversalClient) {
		lease := a.lock(t, "k", time.Minute)
		ctx, cancel := context.WithCancel(context.Background())
		gone := a.waitFor(ctx, "k", minute)
		awaitQueue(t, bare, "k", 1)
		stays := b.waitFor(context.Background(), "k", minute)
		awaitQueue(t, bare, "k", 2)
		cancel()
		assert.Nil(t, <-gone)
		awaitQueue(t, bare, "k", 1)
		start := time.Now()
		unlock(t, lease)
		unlock(t, <-stays)
		assert.Less(t, time.Since(start), heartbeat, "it was notified, and did not try by itself")
	})
}

// A waiter that gave up has no place any more: when it comes again, those who stayed are before it.
func TestFairPutsAReturningWaiterLast(t *testing.T) {
	t.Parallel()
	onEach(t, "v8", func(t *testing.T, a, b *instance, bare redis.UniversalClient) {
		lease := a.lock(t, "k", time.Minute)
		ctx, cancel := context.WithCancel(context.Background())
		gone := a.waitFor(ctx, "k", minute)
		awaitQueue(t, bare, "k", 1)
		stays := b.waitFor(context.Background(), "k", minute)
		awaitQueue(t, bare, "k", 2)
		cancel()
		assert.Nil(t, <-gone)
		back := a.waitFor(context.Background(), "k", minute)
		awaitQueue(t, bare, "k", 2)
		unlock(t, lease)
		unlock(t, has(t, stays))
		unlock(t, has(t, back))
	})
}

func TestFairExpiryWakesTheFirst(t *testing.T) {
	t.Parallel()
	onEach(t, "v8", func(t *testing.T, a, b *instance, bare redis.UniversalClient) {
		a.lock(t, "k", ttl)
		got := b.waitFor(context.Background(), "k", minute)
		awaitQueue(t, bare, "k", 1)
		a.crash()
		start := time.Now()
		unlock(t, <-got)
		assert.Less(t, time.Since(start), ttl+margin)
	})
}

// The owner takes its lock again past the queue, where it would wait for itself. Its inner release calls nobody; the
// last one calls the first in the queue.
func TestFairLetsItsOwnerInPastTheQueue(t *testing.T) {
	t.Parallel()
	onEach(t, "v8", func(t *testing.T, a, b *instance, bare redis.UniversalClient) {
		ctx, o := context.Background(), owned("1")
		outer := must(a.tryLock(ctx, "k", o))
		got := b.waitFor(ctx, "k", minute)
		awaitQueue(t, bare, "k", 1)
		inner := <-a.waitFor(ctx, "k", o)
		require.NotNil(t, inner)
		assert.Equal(t, map[string]string{outer.Token: "2"}, bare.HGetAll(ctx, "k").Val())
		awaitQueue(t, bare, "k", 1)
		unlock(t, inner)
		assert.Equal(t, map[string]string{outer.Token: "1"}, bare.HGetAll(ctx, "k").Val())
		start := time.Now()
		unlock(t, outer)
		unlock(t, <-got)
		assert.Less(t, time.Since(start), heartbeat, "it was notified, and did not try by itself")
	})
}
