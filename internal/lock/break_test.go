package lock

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/backend/backendtest"
	"stockapi/internal/backend/sqldb"
)

// Breaking the locks of a product removes all their keys, with those that a rung keeps beside its lock.
func TestBreakLeavesNothing(t *testing.T) {
	backendtest.Long(t)
	t.Parallel()
	backendtest.Each(t, func(t *testing.T, start func(testing.TB) *backendtest.Server) {
		s := newShop(t, start, 1)
		for _, id := range []string{"v4", "v6", "v7", "v8", "v10", "v11", "v12", "v12-naive", "v15", "v18", "v19"} {
			r := rung(t, id)
			a := s.instance(t, r)
			a.lock(t, r.Key("10000"), time.Minute)
			n, err := a.Break(context.Background(), "10000")
			require.NoError(t, err)
			assert.EqualValues(t, 1, n, id)
			assert.Zero(t, a.Redis.DBSize(context.Background()).Val(), id)
			assert.Zero(t, a.Redlock[0].DBSize(context.Background()).Val(), id)
			assert.True(t, s.instance(t, r).tryOnce(t, r.Key("10000")), id)
		}
	})
}

// It also removes what waiters keep beside the lock, and keys of other types: it is the remedy for ErrForeign.
func TestBreakRemovesForeignKeys(t *testing.T) {
	t.Parallel()
	backendtest.Each(t, func(t *testing.T, start func(testing.TB) *backendtest.Server) {
		ctx := context.Background()
		a := newShop(t, start, 0).instance(t, rung(t, "v8"))
		for _, key := range keysOf("10000") {
			for _, strange := range []string{key, fenceOf(key), queueOf(key), deadlinesOf(key), marksOf(key)} {
				require.NoError(t, a.Redis.PFAdd(ctx, strange, "x").Err())
			}
		}
		n, err := a.Break(ctx, "10000")
		require.NoError(t, err)
		assert.EqualValues(t, len(keysOf("10000")), n)
		assert.Empty(t, a.Redis.Keys(ctx, "*").Val())
	})
}

// A backend that fails does not stop the others. Its error is returned, and the keys that the others removed count.
func TestBreakGoesOnWithoutABackend(t *testing.T) {
	backendtest.Long(t)
	t.Parallel()
	for name, dead := range map[string]*backendtest.Server{
		"silent": deadNode(t, silent), "hangs up": deadNode(t, hangsUp),
	} {
		t.Run(name, func(t *testing.T) {
			ctx := context.Background()
			s := newShop(t, backendtest.StartEmbedded, 3)
			a, row := s.instance(t, rung(t, "v4")), s.instance(t, rung(t, "v12"))
			a.lock(t, rung(t, "v4").Key("10000"), time.Minute)
			row.lock(t, rung(t, "v12").Key("10000"), time.Minute)
			for range 5 {
				a.Redlock = append([]redis.UniversalClient{backendtest.Client(t, dead)}, a.Redlock...)
			}
			start := time.Now()
			n, err := a.Break(ctx, "10000")
			require.Error(t, err)
			assert.EqualValues(t, 2, n)
			assert.Zero(t, a.Redis.DBSize(ctx).Val())
			assert.True(t, row.tryOnce(t, rung(t, "v12").Key("10000")))
			assert.Less(t, time.Since(start), long, "all are asked at once, and not each for each key in turn")

			require.NoError(t, a.Redlock[5].Set(ctx, "redlock:10000", 1, 0).Err())
			a.Redis = backendtest.Client(t, dead)
			n, err = a.Break(ctx, "10000")
			require.Error(t, err)
			assert.EqualValues(t, 1, n)
			assert.Zero(t, a.Redlock[5].DBSize(ctx).Val())
		})
	}
}

// The database has rows and sessions. Both are broken and counted, and an error of one does not hide that of the other.
func TestBreakCountsRowsAndSessions(t *testing.T) {
	t.Parallel()
	broken := errors.New("connection lost")
	for name, c := range map[string]struct {
		failing string
		removed int64
	}{"both": {"", 5}, "no rows": {"remove", 1}, "no sweep": {"sweep", 3}, "no sessions": {"break", 4}} {
		t.Run(name, func(t *testing.T) {
			a := newShop(t, backendtest.StartEmbedded, 0).instance(t, rung(t, "v12"))
			a.SQL.Kind = sqldb.MySQL // MySQL has sessions; no statement reaches a database here
			a.SQL.Around = func(_ context.Context, statement, _ string, _ sqldb.Do) (int64, error) {
				if statement == c.failing {
					return 0, broken
				}
				return map[string]int64{"remove": 2, "break": 1}[statement], nil
			}
			n, err := a.Break(context.Background(), "10000")
			assert.Equal(t, c.removed, n)
			if c.failing == "" {
				require.NoError(t, err)
			} else {
				require.ErrorIs(t, err, broken)
			}
		})
	}
}

// A session that could not be ended does not count.
func TestBreakCountsNoSessionThatLivesOn(t *testing.T) {
	t.Parallel()
	db := backendtest.OpenSQL(t, backendtest.SQLiteFile(t)) // it is no MySQL, and fails
	db.Kind = sqldb.MySQL
	n, err := breakSession(context.Background(), db, "k")
	require.Error(t, err)
	assert.Zero(t, n)
}

// On v8 the first waiter in the queue is notified when a release, or a waiter that leaves the queue, leaves the lock to
// it. It is not notified while the lock is held.
func TestFairLeaveNotifiesNext(t *testing.T) {
	t.Parallel()
	onEach(t, "v8", func(t *testing.T, a, _ *instance, bare redis.UniversalClient) {
		ctx := context.Background()
		messages := bare.Subscribe(ctx, fairChannelOf("k"))
		defer messages.Close()
		_, err := messages.Receive(ctx)
		require.NoError(t, err)
		queue := func(places ...any) {
			require.NoError(t, bare.Del(ctx, queueOf("k")).Err())
			require.NoError(t, bare.RPush(ctx, queueOf("k"), places...).Err())
		}
		lease := a.lock(t, "k", time.Minute)
		queue("first", "second")
		leaveQueue(ctx, a.Redis, "k", "first")
		unlock(t, lease)
		queue("third", "fourth")
		leaveQueue(ctx, a.Redis, "k", "third")
		for _, expected := range []string{"second", "fourth"} {
			message, err := messages.ReceiveTimeout(ctx, long)
			require.NoError(t, err, "%s was not notified", expected)
			assert.Equal(t, expected, message.(*redis.Message).Payload)
		}
	})
}

// Breaking a lock in ZooKeeper wakes its waiters: it removes the nodes that they watch, which are the holder's and
// those of other waiters.
func TestBreakWakesTheWatchers(t *testing.T) {
	t.Parallel()
	onZooKeeper(t, func(t *testing.T, s *shop, r Rung) {
		watching, woken := make(chan struct{}, 100), make(chan struct{}, 100)
		a := s.instance(t, r)
		b := s.instance(t, r, hook(func(ctx context.Context, cmd redis.Cmder, next send) error {
			err := next(ctx)
			if cmd.Name() == "zk:watch" {
				watching <- struct{}{}
			}
			return err
		}))
		b.OnWake = func(context.Context, Notification, string) { woken <- struct{}{} }
		b.rebuild()
		a.lock(t, r.Key("10000"), time.Minute)
		first, second := b.waitFor(t.Context(), r.Key("10000"), minute), b.waitFor(t.Context(), r.Key("10000"), minute)
		<-watching
		<-watching
		_, err := a.Break(t.Context(), "10000")
		require.NoError(t, err)
		for range 2 {
			select {
			case lease := <-first:
				unlock(t, lease)
			case lease := <-second:
				unlock(t, lease)
			case <-time.After(long):
				require.Fail(t, "no waiter acquired")
			}
		}
		assert.NotEmpty(t, woken)
	})
}
