package lock

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func permits(n int64, ttl time.Duration) Options { return Options{TTL: ttl, Permits: n} }

// Three permits let three orders in, from any instance, and a fourth one when one of them leaves.
func TestPermitsLimitHolders(t *testing.T) {
	t.Parallel()
	onEach(t, "v11", func(t *testing.T, a, b *instance, _ redis.UniversalClient) {
		ctx, three := context.Background(), permits(3, time.Minute)
		first := must(a.tryLock(ctx, "k", three))
		second := must(b.tryLock(ctx, "k", three))
		must(a.tryLock(ctx, "k", three))
		_, err := b.tryLock(ctx, "k", three)
		require.ErrorIs(t, err, ErrBusy)
		unlock(t, second)
		must(b.tryLock(ctx, "k", three))
		_, err = a.tryLock(ctx, "k", three)
		require.ErrorIs(t, err, ErrBusy)
		unlock(t, first)
		require.ErrorIs(t, first.Unlock(ctx), ErrLost, "once too often")
	})
}

// A crash leaks a permit. The dead holder's permit is free after its TTL, even though another holder is
// alive and renews. The permit of the live holder is not free.
func TestPermitOfCrashedHolder(t *testing.T) {
	t.Parallel()
	onEach(t, "v11", func(t *testing.T, a, b *instance, _ redis.UniversalClient) {
		assert.True(t, askAgain(t, true, func(longer time.Duration) bool {
			return onePermitReturns(t, a, b, longer*slowTTL)
		}), "one, after its TTL, and not two")
	})
}

// onePermitReturns crashes a. It reports whether a's permit is held until it expires, and b's for as long as b lives.
func onePermitReturns(t *testing.T, a, b *instance, ttl time.Duration) bool {
	t.Helper()
	ctx, key := context.Background(), "k:"+ttl.String()
	try := func(ctx context.Context) (*Lease, error) { return b.tryLock(ctx, key, permits(2, time.Minute)) }
	must(a.tryLock(ctx, key, permits(2, ttl)))
	alive := must(b.tryLock(ctx, key, permits(2, ttl)))
	a.crash()
	defer func() { _ = alive.Unlock(ctx) }()
	if early, err := try(ctx); err == nil {
		unlock(t, early)
		return false
	}
	lease, err := poll(ctx, ttl+margin, constantDelay(5*time.Millisecond), try)
	require.NoError(t, err)
	defer unlock(t, lease)
	second, err := try(ctx)
	if err == nil {
		unlock(t, second)
	}
	return errors.Is(err, ErrBusy) && alive.Context.Err() == nil
}

// An expired permit is returned twice, by its deadline and by its holder, or a renewal revives it. No other
// acquire has dropped it in between.
func TestExpiredPermitCannotBeReturned(t *testing.T) {
	t.Parallel()
	onEach(t, "v11", func(t *testing.T, a, b *instance, bare redis.UniversalClient) {
		ctx, two := context.Background(), permits(2, time.Minute)
		other := must(b.tryLock(ctx, "k", two))
		for name, act := range map[string]func(token string) bool{
			"return": func(token string) bool { return releasePermit(ctx, bare, "k", token) == nil },
			"renew":  func(token string) bool { ok, err := renewPermit(ctx, bare, "k", token, ttl); return ok || err != nil },
		} {
			lease := must(a.tryLock(ctx, "k", two))
			require.NoError(t, bare.ZAdd(ctx, "k", redis.Z{Score: 1, Member: lease.Token}).Err(), "its deadline has passed")
			assert.False(t, act(lease.Token), name)
			require.ErrorIs(t, lease.Unlock(ctx), ErrLost)
		}
		assert.EqualValues(t, 1, bare.ZCard(ctx, "k").Val())
		unlock(t, other)
	})
}

// The semaphore's key lasts as long as its longest permit.
func TestPermitsLastAsLongAsTheLongest(t *testing.T) {
	t.Parallel()
	onEach(t, "v11", func(t *testing.T, a, b *instance, bare redis.UniversalClient) {
		ctx, two := context.Background(), permits(2, time.Minute)
		must(a.tryLock(ctx, "k", two))
		assert.True(t, askAgain(t, true, func(longer time.Duration) bool {
			short := must(b.tryLock(ctx, "k", permits(2, longer*slowTTL)))
			assert.Greater(t, bare.PTTL(ctx, "k").Val(), 40*time.Second)
			time.Sleep(longer * slowTTL) // a renewal or two
			assert.Greater(t, bare.PTTL(ctx, "k").Val(), 40*time.Second)
			return short.Unlock(ctx) == nil
		}))
	})
}

// The defect: the number of permits is not stored. A caller with 2 comes in beside a caller with 1.
func TestPermitsMayDisagree(t *testing.T) {
	t.Parallel()
	onEach(t, "v11", func(t *testing.T, a, b *instance, _ redis.UniversalClient) {
		must(a.tryLock(context.Background(), "k", minute))
		_, err := b.tryLock(context.Background(), "k", permits(2, time.Minute))
		require.NoError(t, err)
		_, err = a.tryLock(context.Background(), "k", minute)
		require.ErrorIs(t, err, ErrBusy)
	})
}
