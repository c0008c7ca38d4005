package lock

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/backend/backendtest"
	"stockapi/internal/stock"
)

// inBatches runs a test of v19 as [withTwo] does.
func inBatches(
	t *testing.T, test func(t *testing.T, a, b *instance, bare redis.UniversalClient, sent func() []string),
) {
	t.Helper()
	t.Parallel()
	withTwo(t, "v19", test)
}

// crowd makes that many orders of an instance wait.
func (i *instance) crowd(t *testing.T, n int, ttl time.Duration) []<-chan *Lease {
	t.Helper()
	waiting := make([]<-chan *Lease, n)
	for j := range waiting {
		waiting[j] = i.waitsWith(t.Context(), "k", time.Minute, Options{TTL: ttl})
	}
	return waiting
}

// hasAll returns the leases of orders that must be a batch: they have one token and one fencing token.
func hasAll(t *testing.T, from []<-chan *Lease) []*Lease {
	t.Helper()
	leases := make([]*Lease, len(from))
	for i, one := range from {
		leases[i] = has(t, one)
		require.NotNil(t, leases[i].Seat)
		require.Equal(t, leases[0].Token, leases[i].Token)
		require.Equal(t, leases[0].Fence, leases[i].Fence)
	}
	return leases
}

// All waiters share the lease. An order that arrives meanwhile waits for all of them.
func TestBatchForAllWaiters(t *testing.T) {
	inBatches(t, func(t *testing.T, a, _ *instance, bare redis.UniversalClient, sent func() []string) {
		require.True(t, a.tryOnce(t, "k")) // loads the scripts
		first := a.lock(t, "k", time.Minute)
		waiting := a.crowd(t, 20, time.Minute)
		before := len(sent())
		unlock(t, first)
		batch := hasAll(t, waiting)
		assert.Equal(t, first.Fence+1, batch[0].Fence)
		next := a.crowd(t, 2, time.Minute)
		for _, lease := range batch {
			synctest.Wait()
			require.Empty(t, next[0])
			unlock(t, lease)
		}
		last := hasAll(t, next)
		assert.Equal(t, first.Fence+2, last[0].Fence)
		for _, lease := range last {
			unlock(t, lease)
		}
		assert.Equal(t, []string{"release-handoff"}, sent()[before:])
		assert.Zero(t, bare.Exists(t.Context(), "k", queueOf("k"), deadlinesOf("k")).Val(), "nothing is left")
	})
}

// Orders that wait behind the first one of an instance share its lease from the beginning.
func TestBatchFromFirstLease(t *testing.T) {
	inBatches(t, func(t *testing.T, a, b *instance, _ redis.UniversalClient, _ func() []string) {
		held := b.lock(t, "k", time.Minute)
		waiting := a.crowd(t, 5, time.Minute)
		unlock(t, held)
		for _, lease := range hasAll(t, waiting) {
			require.False(t, b.tryOnce(t, "k"))
			unlock(t, lease)
		}
		require.True(t, b.tryOnce(t, "k"))
	})
}

// A batch has a limit. The rest is in the next one.
func TestBatchHasLimit(t *testing.T) {
	inBatches(t, func(t *testing.T, a, _ *instance, _ redis.UniversalClient, _ func() []string) {
		first := a.lock(t, "k", time.Minute)
		waiting := a.crowd(t, maxBatch+1, time.Minute)
		unlock(t, first)
		batch := hasAll(t, waiting[:maxBatch])
		synctest.Wait()
		require.Empty(t, waiting[maxBatch])
		for _, lease := range batch {
			unlock(t, lease)
		}
		unlock(t, has(t, waiting[maxBatch]))
	})
}

// Each of a batch notices that the lease is lost, whether it is at work or done. The lease is released once.
func TestBatchLosesLease(t *testing.T) {
	inBatches(t, func(t *testing.T, a, b *instance, bare redis.UniversalClient, sent func() []string) {
		held := b.lock(t, "k", time.Second)
		waiting := a.crowd(t, 3, time.Second)
		unlock(t, held)
		batch := hasAll(t, waiting)
		next := a.crowd(t, 1, time.Second)
		require.NoError(t, bare.Del(t.Context(), "k").Err())
		for _, lease := range batch {
			awaitLoss(t, lease, time.Minute)
		}
		fresh := has(t, next[0])
		assert.Greater(t, fresh.Fence, batch[0].Fence)
		before := len(sent())
		for _, lease := range batch {
			require.ErrorIs(t, lease.Unlock(t.Context()), ErrLost)
		}
		assert.Equal(t, []string{"release-handoff"}, sent()[before:])
		require.NoError(t, fresh.Context.Err())
		unlock(t, fresh)
	})
}

// hasLine returns a line whose lease was passed to the second and the third.
func hasLine(t *testing.T) *line {
	t.Helper()
	l := newLine(t, 2)
	require.Equal(t, 2, l.lease.holders)
	return l
}

// buy sells a unit to a member. It fails the test if the member waits for a minute for others of its batch.
func (m *member) buy(t *testing.T, lease *Lease) error {
	t.Helper()
	shelf := stock.NewShelf(backendtest.Client(t, backendtest.StartEmbedded(t)))
	require.NoError(t, shelf.Put(t.Context(), "p", 1))
	answer := make(chan error, 1)
	go func() {
		_, err := shelf.Seller(stock.Combined)(lease.Context, stock.Order{Product: "p", Quantity: 1, Fence: lease.Fence,
			Seat: m.seat, Work: func(context.Context) error { return nil }})
		answer <- err
	}()
	select {
	case err := <-answer:
		return err
	case <-time.After(time.Minute):
		require.Fail(t, "it waits for one that will not come")
		return nil
	}
}

// A lease that was passed to an order that gives up is left to the others, which do not wait for it.
func TestBatchHeirGivesUp(t *testing.T) {
	t.Parallel()
	l := hasLine(t)
	l.second.leave(t.Context())
	lease, err := l.try(t, l.third)
	require.NoError(t, err)
	require.NotNil(t, lease)
	require.NoError(t, l.third.buy(t, lease))
	require.NoError(t, lease.Unlock(t.Context()))
	assert.Equal(t, 1, l.released)
	assert.Empty(t, l.byKey, "nothing is left")
}

// The heirs that have not taken a lost lease yet begin again, before those behind them. One that has taken it does not
// wait for them.
func TestBatchHeirOfLostLease(t *testing.T) {
	t.Parallel()
	l := hasLine(t)
	lease, err := l.try(t, l.second)
	require.NoError(t, err)
	require.NotNil(t, lease)
	l.lease.work.lose(ErrLost)
	require.ErrorIs(t, l.second.buy(t, lease), ErrLost, "it does not wait for the third")
	fresh, err := l.try(t, l.third)
	require.NoError(t, err)
	require.Nil(t, fresh, "it asks Redis")
	require.NoError(t, lease.Unlock(t.Context()), "the release found its key")
	assert.Equal(t, 1, l.released)
}
