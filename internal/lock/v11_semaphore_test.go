package lock

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Three permits let three in, wherever they come from, and a fourth when one of them leaves.
func TestAsManyAsThereArePermits(t *testing.T) {
	t.Parallel()
	onEach(t, "v11", func(t *testing.T, a, b *instance, _ redis.UniversalClient) {
		ctx := WithPermits(context.Background(), 3)
		first := must(a.tryLock(ctx, "k", time.Minute))
		second := must(b.tryLock(ctx, "k", time.Minute))
		must(a.tryLock(ctx, "k", time.Minute))
		_, err := b.tryLock(ctx, "k", time.Minute)
		require.ErrorIs(t, err, ErrBusy)
		unlock(t, second)
		must(b.tryLock(ctx, "k", time.Minute))
		_, err = a.tryLock(ctx, "k", time.Minute)
		require.ErrorIs(t, err, ErrBusy)
		unlock(t, first)
		require.ErrorIs(t, first.Unlock(ctx), ErrLost, "once too often")
	})
}

// Pitfall 18: a crash leaks a permit. The dead holder's is free after its TTL, although another holder is alive and
// keeps the semaphore itself alive; that other one's is not.
func TestPitfall18ACrashedHoldersPermitReturns(t *testing.T) {
	t.Parallel()
	onEach(t, "v11", func(t *testing.T, a, b *instance, _ redis.UniversalClient) {
		ctx := WithPermits(context.Background(), 2)
		must(a.tryLock(ctx, "k", slowTTL))
		alive := must(b.tryLock(ctx, "k", slowTTL))
		a.crash()
		begun := time.Now()
		_, err := b.tryLock(ctx, "k", time.Minute)
		require.ErrorIs(t, err, ErrBusy)
		lease, err := poll(ctx, slowTTL+margin, Fixed(5*time.Millisecond), func(ctx context.Context) (*Lease, error) {
			return b.tryLock(ctx, "k", time.Minute)
		})
		require.NoError(t, err)
		assert.Less(t, time.Since(begun), slowTTL+margin)
		_, err = b.tryLock(ctx, "k", time.Minute)
		require.ErrorIs(t, err, ErrBusy, "one has returned, not two")
		require.NoError(t, alive.Context.Err())
		unlock(t, alive)
		unlock(t, lease)
	})
}

// Pitfall 18: an expired permit is returned twice, by time and by its holder; or a renewal takes it back. Nobody has
// come meanwhile who would have dropped it.
func TestPitfall18AnExpiredPermitIsNobodys(t *testing.T) {
	t.Parallel()
	onEach(t, "v11", func(t *testing.T, a, b *instance, bare redis.UniversalClient) {
		ctx := WithPermits(context.Background(), 2)
		other := must(b.tryLock(ctx, "k", time.Minute))
		for name, act := range map[string]func(token string) bool{
			"return": func(token string) bool { return releasePermit(ctx, bare, "k", token) == nil },
			"renew":  func(token string) bool { ok, err := renewPermit(ctx, bare, "k", token, ttl); return ok || err != nil },
		} {
			lease := must(a.tryLock(ctx, "k", time.Minute))
			require.NoError(t, bare.ZAdd(ctx, "k", redis.Z{Score: 1, Member: lease.Token}).Err(), "its deadline was long ago")
			assert.False(t, act(lease.Token), name)
			require.ErrorIs(t, lease.Unlock(ctx), ErrLost)
		}
		assert.EqualValues(t, 1, bare.ZCard(ctx, "k").Val())
		unlock(t, other)
	})
}

// The semaphore's key lasts as long as the longest of its permits, and no longer.
func TestAShortPermitDoesNotEndALongOne(t *testing.T) {
	t.Parallel()
	onEach(t, "v11", func(t *testing.T, a, b *instance, bare redis.UniversalClient) {
		ctx := WithPermits(context.Background(), 2)
		must(a.tryLock(ctx, "k", time.Minute))
		short := must(b.tryLock(ctx, "k", slowTTL))
		assert.Greater(t, bare.PTTL(ctx, "k").Val(), 50*time.Second)
		time.Sleep(slowTTL) // a renewal or two
		assert.Greater(t, bare.PTTL(ctx, "k").Val(), 50*time.Second)
		unlock(t, short)
	})
}

// The defect: nobody has written down how many permits there are. Who says 2 walks in beside who says 1.
func TestCallersMayDisagreeAboutThePermits(t *testing.T) {
	t.Parallel()
	onEach(t, "v11", func(t *testing.T, a, b *instance, _ redis.UniversalClient) {
		must(a.tryLock(context.Background(), "k", time.Minute))
		_, err := b.tryLock(WithPermits(context.Background(), 2), "k", time.Minute)
		require.NoError(t, err)
		_, err = a.tryLock(context.Background(), "k", time.Minute)
		require.ErrorIs(t, err, ErrBusy)
	})
}
