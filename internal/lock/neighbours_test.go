package lock

import (
	"context"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/backend/backendtest"
	"stockapi/internal/backend/sqldb"
)

// These tests keep the promises of docs/league.md to other programs, byte by byte: the names and layouts by which
// they share a lock with a rung. A change here breaks mutual exclusion with those programs. Each promise is tested both
// ways: the rung writes what the other program expects, and what the other program writes keeps the rung out.

const tokenPattern = `[A-Z2-7]{26}`

// stringLock tests a lock whose key holds a token: redis-py's Lock, and on each node those of redsync, redlock-py and
// pottery.
func stringLock(t *testing.T, a *instance, r Rung, name string, bare redis.UniversalClient) {
	t.Helper()
	ctx := context.Background()
	require.Equal(t, name, r.Key("10000"))
	lease := a.lock(t, r.Key("10000"), time.Minute)
	assert.Equal(t, []string{name}, bare.Keys(ctx, "*").Val())
	assert.Equal(t, "string", bare.Type(ctx, name).Val())
	assert.Equal(t, lease.Token, bare.Get(ctx, name).Val())
	assert.NotEmpty(t, lease.Token)
	assert.InDelta(t, time.Minute, bare.PTTL(ctx, name).Val(), float64(30*time.Second), "in milliseconds")
	taken, err := bare.SetNX(ctx, name, "theirs", time.Minute).Result()
	require.NoError(t, err)
	assert.False(t, taken, "SET NX PX, as they do it")
	unlock(t, lease)
	assert.Empty(t, bare.Keys(ctx, "*").Val(), "nothing is left")

	require.NoError(t, bare.SetNX(ctx, name, "theirs", time.Minute).Err())
	assert.False(t, a.getsOnce(name), "theirs")
	assert.Equal(t, "theirs", bare.Get(ctx, name).Val())
	// Their release: compare and delete.
	const theirs = `if redis.call("get",KEYS[1]) == ARGV[1] then return redis.call("del",KEYS[1]) else return 0 end`
	require.EqualValues(t, 1, bare.Eval(ctx, theirs, []string{name}, "theirs").Val())
	assert.True(t, a.tryOnce(t, name))
}

// getsOnce reports whether one attempt acquires the lock.
func (i *instance) getsOnce(key string) bool {
	lease, err := i.tryLock(context.Background(), key, minute)
	if err == nil {
		_ = lease.Unlock(context.Background())
	}
	return err == nil
}

func TestNeighbourV4IsRedisPysLock(t *testing.T) {
	t.Parallel()
	onEach(t, "v4", func(t *testing.T, a, _ *instance, bare redis.UniversalClient) {
		stringLock(t, a, rung(t, "v4"), "DistributedLock_10000", bare)
	})
}

func TestNeighbourV6IsRedsyncsRedlock(t *testing.T) {
	t.Parallel()
	backendtest.Each(t, func(t *testing.T, start func(testing.TB) *backendtest.Server) {
		s := newShop(t, start, 1)
		stringLock(t, s.instance(t, rung(t, "v6")), rung(t, "v6"), "redlock:10000", backendtest.Client(t, s.redlock[0]))
	})
}

func TestNeighbourV7IsRedissonsRLock(t *testing.T) {
	t.Parallel()
	onEach(t, "v7", func(t *testing.T, a, _ *instance, bare redis.UniversalClient) {
		const name = "ReentrantLock_10000"
		require.Equal(t, name, rung(t, "v7").Key("10000"))
		ctx := context.Background()
		messages := bare.Subscribe(ctx, "redisson_lock__channel:{ReentrantLock_10000}")
		defer messages.Close()
		_, err := messages.Receive(ctx)
		require.NoError(t, err)
		o := minuteFor("7")
		lease, err := a.tryLock(ctx, name, o)
		require.NoError(t, err)
		assert.Equal(t, []string{name}, bare.Keys(ctx, "*").Val())
		assert.Equal(t, "hash", bare.Type(ctx, name).Val())
		fields := bare.HGetAll(ctx, name).Val()
		assert.Equal(t, map[string]string{lease.Token: "1"}, fields)
		assert.Regexp(t, "^"+tokenPattern+":.*7", lease.Token, "the client's id, a colon, the thread's")
		assert.InDelta(t, time.Minute, bare.PTTL(ctx, name).Val(), float64(30*time.Second), "in milliseconds")
		again, err := a.tryLock(ctx, name, o)
		require.NoError(t, err)
		assert.Equal(t, "2", bare.HGet(ctx, name, lease.Token).Val())
		unlock(t, again)
		assert.Equal(t, "1", bare.HGet(ctx, name, lease.Token).Val())
		unlock(t, lease)
		message, err := messages.ReceiveMessage(ctx)
		require.NoError(t, err)
		assert.Equal(t, "0", message.Payload)
		assert.Empty(t, bare.Keys(ctx, "*").Val(), "nothing is left")
		require.ErrorIs(t, lease.Unlock(ctx), ErrLost, "once too often")

		require.NoError(t, bare.HSet(ctx, name, "2f0e1c7e-6d5f-4b7e-8b0e-0c1d2e3f4a5b:1", 1).Err())
		require.NoError(t, bare.PExpire(ctx, name, 30*time.Second).Err())
		_, err = a.tryLock(ctx, name, minute)
		require.ErrorIs(t, err, ErrBusy)
	})
}

func TestNeighbourV14IsCuratorsInterProcessMutex(t *testing.T) {
	t.Parallel()
	backendtest.RequireZooKeeper(t)
	s := newShop(t, backendtest.StartEmbedded, 0)
	r := rung(t, "v14")
	a, curator := s.instance(t, r), s.zookeeper().Raw(t)
	const dir = "/stockapi/sequential/DistributedLock_10000"
	lease := a.lock(t, r.Key("10000"), time.Minute)
	names, _, err := curator.Children(dir)
	require.NoError(t, err)
	require.Len(t, names, 1)
	assert.Regexp(t, `^_c_`+tokenPattern+`-lock-0000000000$`, names[0])
	data, stat, err := curator.Get(dir + "/" + names[0])
	require.NoError(t, err)
	assert.Equal(t, a.ZooKeeper.SessionID(), stat.EphemeralOwner)
	assert.Regexp(t, `^a/`+lease.Token+`$`, string(data), "which instance it is")

	// Curator's node is behind ours, in the same numbers. Then it is before our next one.
	theirs, err := curator.Create(dir+"/_c_2f0e1c7e-6d5f-4b7e-8b0e-0c1d2e3f4a5b-lock-", []byte("127.0.0.1"),
		zk.FlagEphemeral|zk.FlagSequence, zk.WorldACL(zk.PermAll))
	require.NoError(t, err)
	assert.Equal(t, dir+"/_c_2f0e1c7e-6d5f-4b7e-8b0e-0c1d2e3f4a5b-lock-0000000001", theirs)
	_, _, gone, err := curator.ExistsW(dir + "/" + names[0])
	require.NoError(t, err)
	unlock(t, lease)
	select {
	case event := <-gone:
		assert.Equal(t, zk.EventNodeDeleted, event.Type, "this notifies the waiter behind us")
	case <-time.After(time.Minute):
		t.Fatal("no notification")
	}
	assert.False(t, a.getsOnce(r.Key("10000")))
	require.NoError(t, curator.Delete(theirs, -1))
	assert.True(t, a.tryOnce(t, r.Key("10000")))
}

// foreign has the statements by which any program takes and releases v12-session's lock.
var foreign = map[sqldb.Kind]struct{ take, give, held string }{
	sqldb.MySQL: {
		take: `SELECT GET_LOCK(SHA2('DistributedLock_10000', 256), 0)`,
		give: `SELECT RELEASE_LOCK(SHA2('DistributedLock_10000', 256))`,
		held: `SELECT IS_USED_LOCK('304dfaf658e5413ed1fce4a5d54dcf7c74170d8edc77ac2a3e23dbf386d5aa4d') IS NOT NULL`,
	},
	sqldb.PostgreSQL: {
		take: `SELECT pg_try_advisory_lock(hashtextextended('DistributedLock_10000', 0))::INT`,
		give: `SELECT pg_advisory_unlock(hashtextextended('DistributedLock_10000', 0))::INT`,
		held: `SELECT COUNT(*) FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 1
			AND ((CAST(classid AS BIGINT) << 32) | CAST(objid AS BIGINT)) = 4613594598558553037`,
	},
}

func TestNeighbourV12SessionIsTheServersOwnLock(t *testing.T) {
	t.Parallel()
	backendtest.EachSQLServer(t, func(t *testing.T, server *backendtest.SQLServer) {
		ctx := context.Background()
		s := newShop(t, backendtest.StartEmbedded, 0)
		s.sql = server.DSN
		r := rung(t, "v12-session")
		a := s.instance(t, r)
		db := backendtest.OpenSQL(t, server.DSN)
		other, err := db.Conn(ctx)
		require.NoError(t, err)
		defer other.Close()
		ask := func(query string) (n int) {
			require.NoError(t, other.QueryRowContext(ctx, query).Scan(&n), query)
			return n
		}
		they := foreign[db.Kind]
		lease := a.lock(t, r.Key("10000"), time.Minute)
		assert.Zero(t, ask(they.take), "ours")
		assert.Equal(t, 1, ask(they.held), "and no other")
		unlock(t, lease)
		assert.Equal(t, 1, ask(they.take))
		assert.False(t, a.getsOnce(r.Key("10000")), "theirs")
		assert.Equal(t, 1, ask(they.give))
		assert.True(t, a.tryOnce(t, r.Key("10000")))
	})
}

// The row of v12 says which instance holds the lock, how often, and until when in milliseconds since 1970.
func TestNeighbourV12IsARow(t *testing.T) {
	t.Parallel()
	backendtest.EachSQL(t, func(t *testing.T, dsn string) {
		ctx := context.Background()
		db := backendtest.OpenSQLAs(t, dsn, "a")
		tryLock := sqlRow(newRuntime(Backends{SQL: db, Process: Process{Life: t.Context()}}))
		lease, err := tryLock(ctx, rung(t, "v12").Key("10000"), minute)
		require.NoError(t, err)
		var owner string
		var holds, expires int64
		const query = "SELECT owner, holds, expires FROM stockapi_locks WHERE name = 'DistributedLock_10000'"
		require.NoError(t, db.QueryRowContext(ctx, query).Scan(&owner, &holds, &expires))
		assert.Regexp(t, `^a/`+tokenPattern+`:`, owner)
		assert.EqualValues(t, 1, holds)
		assert.InDelta(t, time.Now().Add(time.Minute).UnixMilli(), expires, 30_000)
		require.NoError(t, lease.Unlock(ctx))
		require.NoError(t, db.QueryRowContext(ctx, query).Scan(&owner, &holds, &expires))
		assert.Zero(t, expires, "released")
	})
}
