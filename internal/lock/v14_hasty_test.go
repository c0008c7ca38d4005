package lock

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/backend/backendtest"
)

// hastyShop returns the instances of a holder, of a waiter behind it, and of a waiter behind that one.
func hastyShop(t *testing.T, id string) (a, b, c *instance) {
	t.Helper()
	backendtest.RequireZooKeeper(t)
	s := newShop(t, backendtest.StartEmbedded, 0)
	r := rung(t, id)
	return s.instance(t, r), s.instance(t, r), s.instance(t, r)
}

// waitBehind waits for the lock on that instance, in the background, and returns when it is number n in the queue.
func waitBehind(ctx context.Context, t *testing.T, i *instance, n int, maxWait time.Duration) <-chan *Lease {
	t.Helper()
	got := i.waits(ctx, key(t), maxWait, minute)
	require.Eventually(t, func() bool { return i.locks(t, key(t)) == n }, margin, time.Millisecond)
	return got
}

// The holder works, a waiter behind it gives up, and the next waiter is woken: on v14-hasty it takes itself for the
// holder, and on v14 it waits on.
func TestHastyTakesTheEndOfAWaiterForThatOfTheHolder(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"v14", "v14-hasty"} {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			a, b, c := hastyShop(t, id)
			lease := a.lock(t, key(t), time.Minute)
			ctx, giveUp := context.WithCancel(context.Background())
			second := waitBehind(ctx, t, b, 2, time.Minute)
			third := waitBehind(context.Background(), t, c, 3, time.Minute)
			time.Sleep(20 * time.Millisecond) // it watches by now
			giveUp()
			assert.Nil(t, <-second)
			if id == "v14-hasty" {
				beside := <-third
				require.NotNil(t, beside)
				stillInside(t, lease)
				unlock(t, beside)
				unlock(t, lease)
				return
			}
			select {
			case <-third:
				t.Error("it got in beside the holder")
			case <-time.After(2 * zkSession):
			}
			unlock(t, lease)
			unlock(t, <-third)
		})
	}
}

// stillInside skips a test whose holder has lost its session, because the machine is too slow for a session that short.
func stillInside(t *testing.T, lease *Lease) {
	t.Helper()
	if lease.Context.Err() != nil {
		t.Skip("the machine is too slow: ", context.Cause(lease.Context))
	}
}

// The wait is over before the work is. It is not limited by the session, as each watch of v14 is.
func TestHastyTakesTheEndOfItsWaitForTheLock(t *testing.T) {
	t.Parallel()
	a, b, _ := hastyShop(t, "v14-hasty")
	lease := a.lock(t, key(t), time.Minute)
	assert.False(t, b.tryOnce(t, key(t)), "a try without a wait is refused")
	begun := time.Now()
	second, err := b.acquire(context.Background(), key(t), 2*zkSession, minute)
	require.NoError(t, err)
	assert.GreaterOrEqual(t, time.Since(begun), 2*zkSession)
	stillInside(t, second)
	stillInside(t, lease)
	assert.Greater(t, second.Fence, lease.Fence)
	unlock(t, second)
	unlock(t, lease)
}
