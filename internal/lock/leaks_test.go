package lock

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// v5-as-printed leaks a timer for each order that was not sold, up to a limit. The limit never ends the timer of a
// holder at work.
func TestAsPrintedLeaksBoundedTimers(t *testing.T) {
	t.Parallel()
	onEmbedded(t, "v5-as-printed", 0, func(t *testing.T, s *shop, r Rung) {
		const ttl = time.Minute
		i := s.instance(t, r)
		var renewals atomic.Int64
		i.OnRenew = func(bool) { renewals.Add(1) }
		i.rebuild()
		timers := func() int64 { // each of them renews once in that time
			renewals.Store(0)
			time.Sleep(ttl / 2)
			return renewals.Load()
		}
		held := i.lock(t, "held", ttl)
		for n := range 4 * maxLeaks {
			unlock(t, i.lock(t, fmt.Sprint("k", n), ttl))
			sold := i.lock(t, fmt.Sprint("k", n), ttl)
			sold.Sold()
			unlock(t, sold)
		}
		time.Sleep(ttl / 4) // no timer is due at the edge of what is counted
		assert.EqualValues(t, maxLeaks+1, timers(), "the leaked ones, and the holder's")
		held.Sold()
		unlock(t, held)
		assert.EqualValues(t, maxLeaks, timers(), "the leaked ones")
		i.crash()
		assert.Zero(t, timers(), "the process has ended")
	})
}

// The last fencing token is kept until Redis' clock has passed it, and for an hour more. A value that is no number is
// overwritten.
func TestFenceExpires(t *testing.T) {
	t.Parallel()
	onEach(t, "v15", func(t *testing.T, a, _ *instance, bare redis.UniversalClient) {
		ctx := context.Background()
		first := a.lock(t, "k", time.Minute)
		unlock(t, first)
		ttl := bare.PTTL(ctx, fenceOf("k")).Val()
		assert.InDelta(t, time.Hour, ttl, float64(10*time.Minute))

		ahead := first.Fence + (2 * time.Hour).Microseconds() // the clock has stepped back
		require.NoError(t, bare.Set(ctx, fenceOf("k"), ahead, 0).Err())
		second := a.lock(t, "k", time.Minute)
		unlock(t, second)
		assert.Equal(t, ahead+1, second.Fence)
		ttl = bare.PTTL(ctx, fenceOf("k")).Val()
		assert.InDelta(t, 3*time.Hour, ttl, float64(10*time.Minute), "until the clock has passed it")

		for _, spoilt := range []string{"many", "inf", "-inf", "nan", "9223372036854775807", "0x1p70"} {
			require.NoError(t, bare.Set(ctx, fenceOf("k"), spoilt, 0).Err())
			time.Sleep(time.Millisecond) // the numbers are Redis' clock
			lease := a.lock(t, "k", time.Minute)
			unlock(t, lease)
			assert.Greater(t, lease.Fence, first.Fence, spoilt)
			assert.Less(t, lease.Fence, ahead, spoilt)
		}
	})
}
