package lock

import (
	"context"
	"maps"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// acquireAll takes several locks as an order on that rung does.
func (i *instance) acquireAll(t testing.TB, id string, maxWait time.Duration, keys ...string) (*Lease, error) {
	t.Helper()
	r, err := Find(id)
	require.NoError(t, err)
	try, acquireAll := r.BuildSeveral(i.Backends)
	ctx := context.Background()
	return acquireAll(ctx, ctx, keys, maxWait, i.wait, func(ctx context.Context, keys ...string) (*Lease, error) {
		return try(ctx, keys, minute)
	})
}

// Several locks. Two orders name two products in opposite orders, and neither goes on before both have sent
// their first command. On v9-naive each then holds the lock that the other waits for. On v9 both get through.
func TestOppositeOrders(t *testing.T) {
	t.Parallel()
	both := map[string]bool{"v9": true, "v9-naive": false}
	onRungs(t, slices.Sorted(maps.Keys(both)), 0, func(t *testing.T, s *shop, r Rung) {
		var begun, orders sync.WaitGroup
		begun.Add(2)
		var got atomic.Int64
		for _, keys := range [][]string{{"k1", "k2"}, {"k2", "k1"}} {
			var first sync.Once
			at := s.instance(t, r, hook(func(ctx context.Context, _ redis.Cmder, next send) error {
				err := next(ctx)
				first.Do(func() {
					begun.Done()
					begun.Wait()
				})
				return err
			}))
			orders.Go(func() {
				// When two wait for each other and one gives up, the other may still get through.
				lease, err := at.acquireAll(t, r.Number, 2*time.Second, keys...)
				if err == nil {
					got.Add(1)
					unlock(t, lease)
					return
				}
				assert.ErrorIs(t, err, ErrBusy)
			})
		}
		orders.Wait()
		assert.Equal(t, both[r.Number], got.Load() == 2)
		for _, key := range []string{"k1", "k2"} {
			assert.True(t, s.instance(t, r).tryOnce(t, key), "every lock was released")
		}
	})
}

// The keys are taken in sorted order, and each once.
func TestSortedAndOnce(t *testing.T) {
	t.Parallel()
	onEmbedded(t, "v9", 0, func(t *testing.T, s *shop, r Rung) {
		var taken []string
		a := s.instance(t, r, hook(func(ctx context.Context, cmd redis.Cmder, next send) error {
			if cmd.Name() == "set" {
				key, _ := cmd.Args()[1].(string)
				taken = append(taken, key)
			}
			return next(ctx)
		}))
		keys := []string{"k3", "k1", "k3", "k2", "k1"}
		lease, err := a.acquireAll(t, "v9", 0, keys...)
		require.NoError(t, err)
		assert.Equal(t, []string{"k1", "k2", "k3"}, taken)
		assert.Equal(t, []string{"k3", "k1", "k3", "k2", "k1"}, keys, "the caller's list is unchanged")
		for _, key := range taken {
			assert.Equal(t, lease.Token, a.Redis.Get(context.Background(), key).Val(), "one token for all")
		}
		require.NoError(t, lease.Unlock(context.Background()))
		assert.Zero(t, a.Redis.Exists(context.Background(), taken...).Val())
	})
}

// If one of several is held, the others are released at once, and its holder keeps it.
func TestPartialAcquireIsUndone(t *testing.T) {
	t.Parallel()
	onEmbedded(t, "v9", 0, func(t *testing.T, s *shop, r Rung) {
		a, b := s.instance(t, r), s.instance(t, r)
		held := b.lock(t, "k2", time.Minute)
		_, err := a.acquireAll(t, "v9", 0, "k1", "k2", "k3")
		require.ErrorIs(t, err, ErrBusy)
		assert.Zero(t, a.Redis.Exists(t.Context(), "k1", "k3").Val())
		unlock(t, held)
		lease, err := a.acquireAll(t, "v9", 0, "k1", "k2", "k3")
		require.NoError(t, err)
		unlock(t, lease)
	})
}

// The reply to the second acquire is lost, or comes after the first lease has expired. No key is left.
func TestAcquireThatFailsHalfWay(t *testing.T) {
	t.Parallel()
	const lease = 200 * time.Millisecond
	for name, fail := range map[string]func() error{
		"reply lost": func() error { return os.ErrDeadlineExceeded },
		"reply late": func() error { time.Sleep(lease); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			onEmbedded(t, "v9", 0, func(t *testing.T, s *shop, r Rung) {
				var sent atomic.Int64
				a := s.instance(t, r, hook(func(ctx context.Context, cmd redis.Cmder, next send) error {
					if err := next(ctx); err != nil || cmd.Name() != "set" || sent.Add(1) != 2 {
						return err
					}
					return fail()
				}))
				try, _ := r.BuildSeveral(a.Backends)
				_, err := try(context.Background(), []string{"k1", "k2", "k3"}, Options{TTL: lease})
				require.Error(t, err)
				assert.Zero(t, a.Redis.Exists(context.Background(), "k1", "k2", "k3").Val())
			})
		})
	}
}

// All locks have one deadline and one renewal: when any of them is lost, the work is cancelled, and the others are
// still released.
func TestLossOfOneIsLossOfAll(t *testing.T) {
	t.Parallel()
	for _, lost := range []string{"k1", "k2", "k3"} {
		t.Run(lost, func(t *testing.T) {
			onEmbedded(t, "v9", 0, func(t *testing.T, s *shop, r Rung) { lossOfOneIsLossOfAll(t, s, r, lost) })
		})
	}
}

func lossOfOneIsLossOfAll(t *testing.T, s *shop, r Rung, gone string) {
	t.Helper()
	a, b := s.instance(t, r), s.instance(t, r)
	try, _ := r.BuildSeveral(a.Backends)
	lease, err := try(context.Background(), []string{"k1", "k2", "k3"}, Options{TTL: slowTTL})
	require.NoError(t, err)
	handOver(t, s, gone, b)
	awaitLoss(t, lease, slowTTL+margin)
	require.ErrorIs(t, lease.Unlock(context.Background()), ErrLost)
	for _, key := range []string{"k1", "k2", "k3"} {
		assert.Equal(t, key != gone, b.tryOnce(t, key), "%s, when %s was lost", key, gone)
	}
}
