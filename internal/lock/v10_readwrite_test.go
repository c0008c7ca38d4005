package lock

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// readerOf returns an instance's read lock of v10.
func readerOf(i *instance) TryLock {
	r, _ := Find("v10")
	read, _ := r.BuildRead(i.Backends)
	return read
}

func TestReadersShareAndWritersExclude(t *testing.T) {
	t.Parallel()
	onEach(t, "v10", func(t *testing.T, a, b *instance, _ redis.UniversalClient) {
		ctx := context.Background()
		first, second := must(readerOf(a)(ctx, "k", minute)), must(readerOf(b)(ctx, "k", minute))
		_, err := a.tryLock(ctx, "k", minute)
		require.ErrorIs(t, err, ErrBusy)
		unlock(t, first)
		_, err = b.tryLock(ctx, "k", minute)
		require.ErrorIs(t, err, ErrBusy, "one reader is left")
		unlock(t, second)
		writer := must(a.tryLock(ctx, "k", minute))
		_, err = readerOf(b)(ctx, "k", minute)
		require.ErrorIs(t, err, ErrBusy)
		unlock(t, writer)
		unlock(t, must(readerOf(b)(ctx, "k", minute)))
		require.ErrorIs(t, first.Unlock(ctx), ErrLost, "once too often")
	})
}

// Readers starve a writer. While a writer waits, no new reader gets in, and the writer is next. When it
// gives up, it removes its mark.
func TestWaitingWriterIsNext(t *testing.T) {
	t.Parallel()
	onEach(t, "v10", func(t *testing.T, a, b *instance, bare redis.UniversalClient) {
		ctx := context.Background()
		assert.True(t, askAgain(t, true, func(time.Duration) bool {
			reader := must(readerOf(a)(ctx, "k", minute))
			got := b.waitFor(ctx, "k", minute)
			marked := func() bool { return bare.ZCard(ctx, marksOf("k")).Val() == 1 }
			require.Eventually(t, marked, 5*time.Second, time.Millisecond)
			time.Sleep(2 * markTTL)
			second, err := readerOf(a)(ctx, "k", minute)
			if err == nil {
				unlock(t, second)
			}
			unlock(t, reader)
			unlock(t, <-got)
			return errors.Is(err, ErrBusy)
		}), "the mark lasts as long as the writer waits")

		reader := must(readerOf(a)(ctx, "k", minute))
		impatient, giveUp := context.WithTimeout(ctx, 100*time.Millisecond)
		defer giveUp()
		require.Nil(t, <-b.waitFor(impatient, "k", minute))
		unlock(t, must(readerOf(a)(ctx, "k", minute)))
		_, err := b.tryLock(ctx, "k", minute)
		require.ErrorIs(t, err, ErrBusy)
		unlock(t, must(readerOf(a)(ctx, "k", minute)))
		unlock(t, reader)
	})
}

// A writer tries several times before its mark expires, even if the delay for polling is long.
func TestMarkOutlastsDelay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var last time.Time
		tries := 0
		lease, err := newRuntime(Backends{}).marked(constantDelay(time.Hour))(t.Context(), "k", 100*time.Hour,
			func(context.Context) (*Lease, error) {
				if tries++; tries > 1 {
					assert.LessOrEqual(t, time.Since(last), markTTL/2)
				}
				if last = time.Now(); tries > 20 {
					return &Lease{}, nil
				}
				return nil, ErrBusy
			})
		require.NoError(t, err)
		require.NotNil(t, lease)
	})
}

// A writer that dies while it waits keeps readers out until its mark expires, and no longer.
func TestWriterThatDiesWaitingBlocksReadersBriefly(t *testing.T) {
	t.Parallel()
	onEach(t, "v10", func(t *testing.T, a, b *instance, _ redis.UniversalClient) {
		ctx := context.Background()
		reader := must(readerOf(a)(ctx, "k", minute))
		_, err := b.tryLock(context.WithValue(ctx, placeKey{}, "dead"), "k", minute)
		require.ErrorIs(t, err, ErrBusy)
		_, err = readerOf(a)(ctx, "k", minute)
		require.ErrorIs(t, err, ErrBusy)
		next, err := poll(ctx, markTTL+margin, constantDelay(5*time.Millisecond), func(ctx context.Context) (*Lease, error) {
			return readerOf(a)(ctx, "k", minute)
		})
		require.NoError(t, err)
		unlock(t, next)
		unlock(t, reader)
	})
}

// A renewal revives a dead reader's lease. Each reader has its own deadline: renewals of other readers do
// not extend it, and an expired lease cannot be renewed.
func TestDeadReaderExpires(t *testing.T) {
	t.Parallel()
	onEach(t, "v10", func(t *testing.T, a, b *instance, bare redis.UniversalClient) {
		ctx := context.Background()
		assert.True(t, askAgain(t, true, func(longer time.Duration) (survives bool) {
			ttl := longer * slowTTL
			key := "k:" + ttl.String()
			dead, alive := must(readerOf(a)(ctx, key, Options{TTL: ttl})), must(readerOf(b)(ctx, key, Options{TTL: ttl}))
			a.crash()
			require.Eventually(t, func() bool {
				ok, err := readerOf(b)(ctx, key, minute)
				if err == nil {
					unlock(t, ok) // each acquire drops the members whose deadline has passed
				}
				return errors.Is(bare.ZScore(ctx, key, dead.Token).Err(), redis.Nil)
			}, ttl+margin, 20*time.Millisecond)
			survives = bare.ZCard(ctx, key).Val() == 1 && alive.Context.Err() == nil
			ok, err := renewPermit(ctx, bare, key, dead.Token, ttl)
			require.NoError(t, err)
			assert.False(t, ok)
			require.ErrorIs(t, dead.Unlock(ctx), ErrLost)
			_ = alive.Unlock(ctx)
			assert.True(t, b.tryOnce(t, key))
			return survives
		}), "the other reader's lease lasts")
	})
}

// An upgrade waits for itself. It is refused at once, even with a max wait. Another owner's acquire waits.
func TestUpgradeIsRefused(t *testing.T) {
	t.Parallel()
	onEach(t, "v10", func(t *testing.T, a, _ *instance, _ redis.UniversalClient) {
		ctx, o := context.Background(), minuteFor("1")
		reader := must(readerOf(a)(ctx, "k", o))
		_, err := a.acquire(ctx, "k", time.Minute, o)
		require.ErrorIs(t, err, ErrUpgrade)
		_, err = a.tryLock(ctx, "k", minuteFor("2"))
		require.ErrorIs(t, err, ErrBusy)
		unlock(t, reader)
		unlock(t, must(a.tryLock(ctx, "k", o)))
	})
}

// A read costs two commands, like a write.
func TestRoundTripsOfRead(t *testing.T) {
	t.Parallel()
	onEach(t, "v10", func(t *testing.T, a, _ *instance, bare redis.UniversalClient) {
		unlock(t, must(readerOf(a)(context.Background(), "k", minute))) // loads the scripts
		commands := 0
		a.Redis.AddHook(hook(func(ctx context.Context, _ redis.Cmder, next send) error {
			commands++
			return next(ctx)
		}))
		unlock(t, must(readerOf(a)(context.Background(), "k", minute)))
		assert.Equal(t, 2, commands)
		assert.Zero(t, bare.Exists(context.Background(), "k").Val())
	})
}
