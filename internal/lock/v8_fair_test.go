package lock

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// awaitQueue waits until that many waiters are in the queue.
func awaitQueue(t *testing.T, bare redis.UniversalClient, key string, waiters int64) {
	t.Helper()
	require.Eventually(t, func() bool {
		return bare.LLen(context.Background(), queueOf(key)).Val() == waiters
	}, 5*time.Second, time.Millisecond, "%d in the queue", waiters)
}

// A dead waiter is skipped when its place has expired. A live one is never skipped, even if it waits long.
func TestFairSkipsDead(t *testing.T) {
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

func TestFairNeverEvictsLiving(t *testing.T) {
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

// A waiter that was paused for too long has lost its place, as a dead one has. When it asks again, it is
// behind those that stayed.
func TestLostPlaceComesLast(t *testing.T) {
	t.Parallel()
	onRungs(t, []string{"v8", "v18"}, 0, func(t *testing.T, s *shop, r Rung) {
		a, b := s.instance(t, r), s.instance(t, r)
		lease := b.lock(t, "k", time.Minute)
		ask := func(place string) {
			_, err := a.tryLock(context.WithValue(t.Context(), placeKey{}, place), "k", minute)
			require.ErrorIs(t, err, ErrBusy)
		}
		queue := func() []string { return a.Redis.LRange(t.Context(), queueOf("k"), 0, -1).Val() }
		ask("paused")
		time.Sleep(placeTTL / 2)
		ask("stays")
		assert.Equal(t, []string{"paused", "stays"}, queue())
		time.Sleep(placeTTL / 2)
		ask("stays")
		ask("paused")
		assert.Equal(t, []string{"stays", "paused"}, queue())
		unlock(t, lease)
	})
}

// A waiter that gives up leaves a gap. When it returns, it is behind those that stayed.
func TestFairPutsReturningWaiterLast(t *testing.T) {
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

// Nor does one whose wait is over keep its place.
func TestFairTimeoutLeavesQueue(t *testing.T) {
	t.Parallel()
	onEmbedded(t, "v8", 0, func(t *testing.T, s *shop, r Rung) {
		a := s.instance(t, r)
		lease := a.lock(t, "k", time.Minute)
		_, err := a.acquire(t.Context(), "k", time.Second, minute)
		require.ErrorIs(t, err, ErrBusy)
		assert.Zero(t, a.Redis.Exists(t.Context(), queueOf("k"), deadlinesOf("k")).Val())
		unlock(t, lease)
	})
}

// The owner takes its lock again past the queue, where it would wait for itself. Its inner release notifies no
// waiter; the last one notifies the first in the queue.
func TestFairLetsOwnerInPastQueue(t *testing.T) {
	t.Parallel()
	onEach(t, "v8", func(t *testing.T, a, b *instance, bare redis.UniversalClient) {
		ctx, o := context.Background(), minuteFor("1")
		outer := must(a.tryLock(ctx, "k", o))
		got := b.waitFor(ctx, "k", minute)
		awaitQueue(t, bare, "k", 1)
		last := b.waitFor(ctx, "k", minute)
		awaitQueue(t, bare, "k", 2)
		inner := <-a.waitFor(ctx, "k", o)
		require.NotNil(t, inner)
		assert.Equal(t, map[string]string{outer.Token: "2"}, bare.HGetAll(ctx, "k").Val())
		awaitQueue(t, bare, "k", 2)
		unlock(t, inner)
		assert.Equal(t, map[string]string{outer.Token: "1"}, bare.HGetAll(ctx, "k").Val())
		start := time.Now()
		unlock(t, outer)
		unlock(t, <-got)
		assert.Less(t, time.Since(start), heartbeat, "it was notified, and did not try by itself")
		unlock(t, <-last)
	})
}
