package lock

import (
	"context"
	"fmt"
	goruntime "runtime"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/backend/backendtest"
)

// timers returns the number of renewing goroutines.
func timers() int {
	stacks := make([]byte, 4<<20)
	return strings.Count(string(stacks[:goruntime.Stack(stacks, true)]), "lock.runtime.start.func1")
}

// v5-as-printed leaks a timer for each order that was not sold, up to a limit. The limit never ends the timer of a
// holder at work. It does not run in parallel with others, since it counts the timers of the whole process.
func TestAsPrintedLeavesABoundedNumberOfTimers(t *testing.T) {
	s := newShop(t, backendtest.StartEmbedded, 0)
	i := s.instance(t, rung(t, "v5-as-printed"))
	before := timers()
	held := i.lock(t, "held", time.Minute)
	for n := range 4 * maxLeaks {
		unlock(t, i.lock(t, fmt.Sprint("k", n), time.Minute))
		sold := i.lock(t, fmt.Sprint("k", n), time.Minute)
		sold.Sold()
		unlock(t, sold)
	}
	soon := func(want int, why string) {
		t.Helper()
		require.Eventually(t, func() bool { return timers()-before == want }, 20*time.Second, time.Millisecond, why)
	}
	soon(maxLeaks+1, "the leaked ones, and the holder's")
	held.Sold()
	unlock(t, held)
	soon(maxLeaks, "the leaked ones")
	i.crash()
	soon(0, "the process has ended")
}

// The last fencing token is kept until Redis' clock has passed it, and for an hour more. A value that is no number is
// overwritten.
func TestTheFenceOfALockEnds(t *testing.T) {
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
