package lock

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/backend/backendtest"
)

// If a key of a rung's lock has another type, the error names the key. TestBreakRemovesForeignKeys has the remedy.
func TestForeignKeyIsNamed(t *testing.T) {
	backendtest.Long(t)
	t.Parallel()
	ctx := context.Background()
	hash := func(rdb redis.Cmdable, key string) error { return rdb.HSet(ctx, key, "mode", "read").Err() } // Redisson's
	text := func(rdb redis.Cmdable, key string) error { return rdb.Set(ctx, key, "1", 0).Err() }
	itself := func(key string) string { return key }
	backendtest.Each(t, func(t *testing.T, start func(testing.TB) *backendtest.Server) {
		s := newShop(t, start, 0)
		for _, c := range []struct {
			rung  string
			where func(key string) string
			put   func(redis.Cmdable, string) error
			says  string
		}{
			{"v7", itself, text, "holds a string, and should hold a hash"},
			{"v8", itself, text, "holds a string, and should hold a hash"},
			{"v8", queueOf, text, "holds a string, and should hold a list"},
			{"v8", deadlinesOf, text, "holds a string, and should hold a zset"},
			{"v10", itself, hash, "holds a hash, and should hold a zset"},
			{"v10", marksOf, text, "holds a string, and should hold a zset"},
			{"v11", itself, text, "holds a string, and should hold a zset"},
			{"v15", fenceOf, hash, "holds a hash, and should hold a string"},
		} {
			r := rung(t, c.rung)
			a, key := s.instance(t, r), r.Key("10000")
			read, _ := r.BuildRead(a.Backends)
			for _, try := range []TryLock{a.tryLock, read} {
				if try == nil {
					continue
				}
				if c.rung == "v8" { // it reads its deadlines only if there is a queue
					_ = a.Redis.RPush(ctx, queueOf(key), "somebody").Err()
				}
				if c.where(key) == marksOf(key) { // writers read the marks only when they have to wait
					a.lock(t, key, time.Minute)
				}
				require.NoError(t, c.put(a.Redis, c.where(key)))
				_, err := try(context.WithValue(ctx, placeKey{}, "mine"), key, minute)
				require.ErrorIs(t, err, ErrForeign, c.rung)
				require.ErrorContains(t, err, c.where(key)+" "+c.says)
				_, err = a.wait(ctx, key, time.Hour, func(ctx context.Context) (*Lease, error) {
					return try(ctx, key, minute)
				})
				require.ErrorIs(t, err, ErrForeign, "and there is no wait")
				_, err = a.Break(ctx, "10000")
				require.NoError(t, err)
			}
		}
	})
}

// To a rung that acquires by SET NX, a key of another type is a held lock.
func TestForeignKeyIsHeld(t *testing.T) {
	t.Parallel()
	ids := []string{
		"v1", "v1.5", "v2", "v3", "v4", "v5", "v5-as-printed", "v5.5", "v5.7", "v6", "v9", "v9-nodes", "v15", "v18",
	}
	onRungs(t, ids, 1, func(t *testing.T, s *shop, r Rung) {
		a, ctx := s.instance(t, r), context.Background()
		for _, client := range s.bare() {
			require.NoError(t, client.HSet(ctx, "k", "somebody:1", 1).Err())
		}
		_, err := a.tryLock(ctx, "k", minute)
		assert.ErrorIs(t, err, ErrBusy)
	})
}

// A lock is lost if its key has another type, as the release reports.
func TestForeignKeyReplacesLock(t *testing.T) {
	t.Parallel()
	onRungs(t, []string{"v3", "v4", "v7", "v8", "v11", "v18"}, 0, func(t *testing.T, s *shop, r Rung) {
		a, ctx := s.instance(t, r), context.Background()
		lease := a.lock(t, "k", time.Minute)
		require.NoError(t, a.Redis.Del(ctx, "k").Err())
		require.NoError(t, a.Redis.SAdd(ctx, "k", "x").Err())
		assert.ErrorIs(t, lease.Unlock(ctx), ErrLost)
	})
}

// A renewal that finds another type returns false at once, and is not retried until the lease ends.
func TestForeignKeyEndsRenewal(t *testing.T) {
	t.Parallel()
	const wrong = redisError("WRONGTYPE Operation against a key holding the wrong kind of value")
	ok, err := newRuntime(Backends{}).reportRenewal(false, wrong)
	require.NoError(t, err)
	assert.False(t, ok)
}

type redisError string

func (e redisError) Error() string { return string(e) }
