package lock

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// mutexInAProcess returns the mutex of v0.5, and a function that waits for it.
func mutexInAProcess(t *testing.T) (TryLock, func(ctx context.Context, maxWait time.Duration) (*Lease, error)) {
	t.Helper()
	tryLock, wait := rung(t, "v0.5").Build(Backends{})
	return tryLock, func(ctx context.Context, maxWait time.Duration) (*Lease, error) {
		return wait(ctx, "k", maxWait, func(ctx context.Context) (*Lease, error) { return tryLock(ctx, "k", minute) })
	}
}

// A release wakes the waiters at once. Each of them gets in, and one at a time.
func TestAMutexWakesItsWaiters(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tryLock, wait := mutexInAProcess(t)
		holder := must(tryLock(t.Context(), "k", minute))
		inside := 0
		var waiting sync.WaitGroup
		for range 100 {
			waiting.Go(func() {
				lease, err := wait(t.Context(), time.Minute)
				if !assert.NoError(t, err) {
					return
				}
				inside++ // a data race, if two are inside
				assert.Equal(t, 1, inside)
				inside--
				unlock(t, lease)
			})
		}
		synctest.Wait()
		start := time.Now()
		unlock(t, holder)
		waiting.Wait()
		assert.Zero(t, time.Since(start), "nobody polls")
	})
}

// A wait for the mutex ends with its limit, and with its context.
func TestAWaitForAMutexEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tryLock, wait := mutexInAProcess(t)
		holder := must(tryLock(t.Context(), "k", minute))
		for _, maxWait := range []time.Duration{0, time.Second} {
			start := time.Now()
			_, err := wait(t.Context(), maxWait)
			require.ErrorIs(t, err, ErrBusy)
			assert.Equal(t, maxWait, time.Since(start))
		}
		why := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(why) })
		_, err := wait(ctx, time.Hour)
		require.ErrorIs(t, err, why)
		unlock(t, holder)
		unlock(t, must(wait(t.Context(), 0)))
	})
}
