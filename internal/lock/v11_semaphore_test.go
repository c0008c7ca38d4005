package lock

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Three permits let three orders in, from any instance, and a fourth one when one of them leaves.
func TestThePermitsLimitTheHolders(t *testing.T) {
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

// Pitfall 18: a crash leaks a permit. The dead holder's permit is free after its TTL, even though another holder is
// alive and renews. The permit of the live holder is not free.
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

// Pitfall 18: an expired permit is returned twice, by its deadline and by its holder, or a renewal revives it. No other
// acquire has dropped it in between.
func TestPitfall18AnExpiredPermitCannotBeReturned(t *testing.T) {
	t.Parallel()
	onEach(t, "v11", func(t *testing.T, a, b *instance, bare redis.UniversalClient) {
		ctx := WithPermits(context.Background(), 2)
		other := must(b.tryLock(ctx, "k", time.Minute))
		for name, act := range map[string]func(token string) bool{
			"return": func(token string) bool { return releasePermit(ctx, bare, "k", token) == nil },
			"renew":  func(token string) bool { ok, err := renewPermit(ctx, bare, "k", token, ttl); return ok || err != nil },
		} {
			lease := must(a.tryLock(ctx, "k", time.Minute))
			require.NoError(t, bare.ZAdd(ctx, "k", redis.Z{Score: 1, Member: lease.Token}).Err(), "its deadline has passed")
			assert.False(t, act(lease.Token), name)
			require.ErrorIs(t, lease.Unlock(ctx), ErrLost)
		}
		assert.EqualValues(t, 1, bare.ZCard(ctx, "k").Val())
		unlock(t, other)
	})
}

// The semaphore's key lasts as long as its longest permit.
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

// The defect: the number of permits is not stored. A caller with 2 comes in beside a caller with 1.
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
