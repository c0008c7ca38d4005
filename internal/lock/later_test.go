package lock

import (
	"context"
	goruntime "runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A lease that is released before its first renewal is due costs a timer and no goroutine. The test does not run in
// parallel with others, since it counts those of the whole process.
func TestLeaseNeedsNoGoroutineBeforeRenewal(t *testing.T) {
	renewing := func() int {
		stacks := make([]byte, 4<<20)
		return strings.Count(string(stacks[:goruntime.Stack(stacks, true)]), "(*runtime).later.func1(")
	}
	synctest.Test(t, func(t *testing.T) {
		rt, before := newRuntime(Backends{}), renewing()
		renewed := func(context.Context) (bool, error) { return true, nil }
		_, stop := rt.keepAlive(t.Context(), Options{TTL: time.Minute}, time.Minute/2, time.Now().Add(time.Minute), renewed)
		stopTimer := rt.every(t.Context(), minute, time.Minute/2, func(context.Context) {})
		synctest.Wait()
		assert.Equal(t, before, renewing())
		time.Sleep(time.Minute)
		assert.Equal(t, before+2, renewing(), "from then on")
		stop()
		stopTimer()
		synctest.Wait() // a stopped goroutine has yet to return
		assert.Equal(t, before, renewing(), "and none is left")
	})
}

// A lease that is released before its first renewal is due allocates little. The test does not run in parallel with
// others, since it counts the allocations of the whole process.
func TestLeaseAllocatesLittle(t *testing.T) {
	rt := newRuntime(Backends{})
	yes := func(context.Context) (bool, error) { return true, nil }
	released := func(context.Context) error { return nil }
	allocated := testing.AllocsPerRun(100, func() {
		work, stop := rt.keepAlive(t.Context(), minute, time.Minute/2, time.Now().Add(time.Minute), yes)
		stop()
		_ = rt.releaseOrSweep(work, released)
	})
	assert.LessOrEqual(t, allocated, 12.0)
}

// A process that has ended renews nothing more, and does not wait for unreleased leases.
func TestRenewalEndsWithProcess(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		life, end := context.WithCancel(t.Context())
		var background sync.WaitGroup
		rt := newRuntime(Backends{Process: Process{Life: life, Background: &background}})
		var renewals, ticks atomic.Int64
		renew := func(context.Context) (bool, error) {
			renewals.Add(1)
			return true, nil
		}
		lock := func() (stop func()) {
			_, stop = rt.keepAlive(t.Context(), Options{TTL: time.Minute}, time.Minute/2, time.Now().Add(time.Minute), renew)
			return stop
		}
		_ = rt.every(t.Context(), minute, time.Minute, func(context.Context) { ticks.Add(1) })
		_, renewed, released := lock(), lock(), lock()
		time.Sleep(time.Minute / 3)
		released()
		_ = lock()
		time.Sleep(time.Minute / 3)
		require.EqualValues(t, 2, renewals.Load())
		end()
		background.Wait()
		time.Sleep(time.Hour)
		require.EqualValues(t, 2, renewals.Load())
		require.Zero(t, ticks.Load())
		renewed() // a late release
		lock()()  // and a late order
	})
}
