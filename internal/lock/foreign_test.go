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

// If a key of a rung's lock has another type, the error names the key. Breaking the lock is the remedy.
func TestAKeyOfAnotherTypeIsNamed(t *testing.T) {
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
			{"v7-cached", itself, text, "holds a string, and should hold a hash"},
			{"v8", itself, text, "holds a string, and should hold a hash"},
			{"v8", queueOf, text, "holds a string, and should hold a list"},
			{"v8", deadlinesOf, text, "holds a string, and should hold a zset"},
			{"v10", itself, hash, "holds a hash, and should hold a zset"},
			{"v10", marksOf, text, "holds a string, and should hold a zset"},
			{"v11", itself, text, "holds a string, and should hold a zset"},
			{"v11-two", itself, text, "holds a string, and should hold a zset"},
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
				require.ErrorIs(t, err, ErrForeign, "and nobody waits for it")
				_, err = a.Break(ctx, "10000")
				require.NoError(t, err)
				require.Empty(t, a.Redis.Keys(ctx, "*").Val())
				lease, err := try(ctx, key, minute)
				require.NoError(t, err)
				unlock(t, lease)
			}
		}
	})
}

// To a rung that takes its lock by SET NX, a key of another type is a lock that somebody else holds.
func TestAKeyOfAnotherTypeIsHeld(t *testing.T) {
	t.Parallel()
	backendtest.Each(t, func(t *testing.T, start func(testing.TB) *backendtest.Server) {
		s := newShop(t, start, 1)
		for _, id := range []string{
			"v1", "v1.5", "v2", "v3", "v4", "v5", "v5-as-printed", "v5.5", "v5.7", "v6", "v9", "v15",
		} {
			a, ctx := s.instance(t, rung(t, id)), context.Background()
			require.NoError(t, a.Redis.HSet(ctx, id, "somebody:1", 1).Err())
			require.NoError(t, a.Redlock[0].HSet(ctx, id, "somebody:1", 1).Err())
			_, err := a.try(ctx, id, minute)
			assert.ErrorIs(t, err, ErrBusy, id)
		}
	})
}

// A lock is lost if its key has another type: the release says so, and a renewal ends the work.
func TestALockReplacedByAnotherTypeIsLost(t *testing.T) {
	t.Parallel()
	for id, cancels := range map[string]bool{"v3": false, "v4": false, "v5": false, "v5.5": true, "v5.7": true,
		"v7": true, "v8": true, "v9": true, "v10": true, "v11": true, "v15": true, "v18": true, "v19": true} {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			onEachShop(t, id, 0, func(t *testing.T, s *shop, r Rung) { replacedIsLost(t, s.instance(t, r), cancels) })
		})
	}
}

func replacedIsLost(t *testing.T, a *instance, cancels bool) {
	t.Helper()
	ctx := context.Background()
	lease := a.lock(t, "k", time.Minute)
	a.replace(t, "k")
	assert.ErrorIs(t, lease.Unlock(ctx), ErrLost)
	require.NoError(t, a.Redis.Del(ctx, "k").Err())
	if !cancels {
		return
	}
	lease = a.lock(t, "k", slowTTL)
	a.replace(t, "k")
	lost(t, lease, long)
	assert.ErrorIs(t, lease.Unlock(ctx), ErrLost)
}

// replace gives the key a type that no rung uses.
func (i *instance) replace(t *testing.T, key string) {
	t.Helper()
	_, err := i.Redis.TxPipelined(context.Background(), func(p redis.Pipeliner) error {
		p.Del(context.Background(), key)
		p.SAdd(context.Background(), key, "x")
		return nil
	})
	require.NoError(t, err)
}

// A renewal that finds another type returns false at once, and is not retried until the lease ends.
func TestARenewalThatFindsAnotherTypeSaysNo(t *testing.T) {
	t.Parallel()
	const wrong = redisError("WRONGTYPE Operation against a key holding the wrong kind of value")
	ok, err := newRuntime(Backends{}).reportRenewal(false, wrong)
	require.NoError(t, err)
	assert.False(t, ok)
}

type redisError string

func (e redisError) Error() string { return string(e) }
