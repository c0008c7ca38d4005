package lock

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/backend/backendtest"
	"stockapi/internal/backend/sqldb"
)

// The statements are the lock, so they are tested in each dialect.
func TestSQLTable(t *testing.T) {
	backendtest.Long(t)
	t.Parallel()
	backendtest.EachSQL(t, func(t *testing.T, dsn string) {
		ctx := context.Background()
		rows, other := &table{db: backendtest.OpenSQL(t, dsn)}, &table{db: backendtest.OpenSQL(t, dsn)}
		acquire := func(key, owner string, ttl time.Duration) bool {
			ok, err := rows.acquire(ctx, key, owner, ttl)
			require.NoError(t, err)
			return ok
		}
		again := func(key, owner string, ttl time.Duration) bool {
			ok, err := rows.reacquire(ctx, key, owner, ttl)
			if !ok {
				require.ErrorIs(t, err, ErrLost)
			}
			return ok
		}
		t.Run("case matters", func(t *testing.T) {
			require.True(t, acquire("one", "a", time.Minute))
			require.True(t, acquire("ONE", "b", time.Minute), "another product")
		})
		t.Run("a release sets the count", func(t *testing.T) {
			require.True(t, acquire("restore", "a", time.Minute))
			require.True(t, again("restore", "a", time.Minute))
			require.True(t, again("restore", "a", time.Minute))
			require.NoError(t, rows.release(ctx, "restore", "a", 1), "two at once")
			require.ErrorIs(t, rows.release(ctx, "restore", "b", 0), ErrLost)
			require.False(t, acquire("restore", "b", time.Minute))
			require.True(t, again("restore", "a", time.Minute))
			require.NoError(t, rows.release(ctx, "restore", "a", 0), "all that are left")
			require.True(t, acquire("restore", "b", time.Minute))
		})
		t.Run("expiry", func(t *testing.T) {
			require.True(t, acquire("expiry", "a", 50*time.Millisecond))
			require.True(t, acquire("expiry", "a", 50*time.Millisecond))
			time.Sleep(70 * time.Millisecond)
			renewed, err := rows.renew(ctx, "expiry", "a", time.Minute)
			require.NoError(t, err)
			require.False(t, renewed, "an expired lease never comes back")
			require.False(t, again("expiry", "a", time.Minute), "not by a nested acquire either")
			require.ErrorIs(t, rows.release(ctx, "expiry", "a", 0), ErrLost)
			require.True(t, acquire("expiry", "b", time.Minute))
			require.NoError(t, rows.release(ctx, "expiry", "b", 0), "the acquires of the previous owner do not count")
			require.True(t, acquire("expiry", "c", time.Minute))
		})
		t.Run("sweep", func(t *testing.T) {
			require.True(t, acquire("over", "a", time.Millisecond))
			require.True(t, acquire("lasts", "a", time.Minute))
			time.Sleep(20 * time.Millisecond)
			swept, err := rows.exec(ctx, "sweep", "", sweepRows)
			require.NoError(t, err)
			require.Positive(t, swept)
			require.NoError(t, rows.release(ctx, "lasts", "a", 0))
			var left int
			require.NoError(t, rows.db.QueryRow("SELECT COUNT(*) FROM stockapi_locks WHERE name = 'over'").Scan(&left))
			require.Zero(t, left)
		})
		t.Run("a crowd", func(t *testing.T) { crowd(t, rows, other) })
		t.Run("many clients create the table at once", func(t *testing.T) {
			for range 20 {
				_, err := rows.db.ExecContext(ctx, "DROP TABLE stockapi_locks")
				require.NoError(t, err)
				var all sync.WaitGroup
				for n := range 16 {
					late := &table{db: []*sqldb.DB{rows.db, other.db}[n%2]}
					all.Go(func() { assert.NoError(t, late.ensure(ctx)) })
				}
				all.Wait()
			}
		})
	})
}

// crowd lets many clients acquire one lock from several pools: one at a time holds it, without an error.
func crowd(t *testing.T, pools ...*table) {
	t.Helper()
	var inside, most, taken atomic.Int64
	var all sync.WaitGroup
	for n := range 40 {
		all.Go(func() {
			rows, owner := pools[n%len(pools)], newToken()
			begun := time.Now()
			for ok := false; !ok; time.Sleep(5 * time.Millisecond) {
				var err error
				ok, err = rows.acquire(context.Background(), "crowd", owner, time.Minute)
				if !assert.NoError(t, err) || !assert.Less(t, time.Since(begun), 30*time.Second) {
					return
				}
			}
			most.Store(max(most.Load(), inside.Add(1)))
			time.Sleep(time.Millisecond)
			inside.Add(-1)
			taken.Add(1)
			assert.NoError(t, rows.release(context.Background(), "crowd", owner, 0))
		})
	}
	all.Wait()
	assert.EqualValues(t, 1, most.Load())
	assert.EqualValues(t, 40, taken.Load())
}

// The statements get durations from the client, and the time from the database's clock.
func TestSQLUsesDatabaseClock(t *testing.T) {
	t.Parallel()
	for _, kind := range []sqldb.Kind{sqldb.SQLite, sqldb.MySQL, sqldb.PostgreSQL} {
		for _, query := range []string{
			acquireRow, acquireRowMySQL, renewRow, releaseRow, reacquireRow, sweepRows, removeRow,
		} {
			said := dialect(kind, query)
			assert.Equal(t, query != removeRow, strings.Contains(said, databaseNow[kind]))
			assert.NotContains(t, said, "NOW")
			assert.Equal(t, kind == sqldb.PostgreSQL && strings.Contains(query, "?"), strings.Contains(said, "$1"))
		}
	}
}

// Whatever the name of the instance, an owner fits its column, and two owners never look the same.
func TestSQLOwnerFitsItsColumn(t *testing.T) {
	t.Parallel()
	holder := newToken() + ":" + newToken()
	owner := (&table{db: &sqldb.DB{Instance: strings.Repeat("x", 99)}}).owner(holder)
	assert.Equal(t, strings.Repeat("x", 10)+"/"+holder, owner)
	assert.Len(t, owner, ownerWidth)
}

// An operator chooses the name of the instance. Its row has it in plain characters.
func TestSQLInstanceIsPlain(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "till-7-----", backendtest.OpenSQLAs(t, backendtest.SQLiteFile(t), "till 7'; --").Instance)
}

// The sweep removes rows that have expired by the database's clock, also if the instance's clock is ahead of it.
func TestSQLSweepUsesDatabaseClock(t *testing.T) {
	t.Parallel()
	const ahead = time.Hour
	now, dsn := time.Now(), backendtest.SQLiteFile(t)
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(now.Add(ahead))) // in virtual time, which SQLite does not have
		rows := &table{db: backendtest.OpenSQL(t, dsn)}
		for name, ttl := range map[string]time.Duration{"over": 0, "lasts": ahead / 2} {
			ok, err := rows.acquire(t.Context(), name, "a", ttl)
			require.NoError(t, err)
			require.True(t, ok)
		}
		life, end := context.WithCancel(context.Background())
		rt := newRuntime(Backends{Process: Process{Life: life}})
		rt.sweepRows(rows)
		time.Sleep(sweepInterval)
		synctest.Wait()
		end()
		rt.Background.Wait()
		var left string
		require.NoError(t, rows.db.QueryRow("SELECT name FROM stockapi_locks").Scan(&left))
		assert.Equal(t, "lasts", left)
		require.NoError(t, rows.release(t.Context(), "lasts", "a", 0))
	})
}

// Breaking locks does not create the database file if it has held no lock.
func TestBreakCreatesNoDatabase(t *testing.T) {
	t.Parallel()
	dsn := backendtest.SQLiteFile(t)
	s := newShop(t, backendtest.StartEmbedded, 1)
	s.sql = dsn
	a := s.instance(t, rung(t, "v12"))
	_, err := a.Break(context.Background(), "10000")
	require.NoError(t, err)
	assert.True(t, a.SQL.Unused())
	a.lock(t, rung(t, "v12").Key("10000"), time.Minute)
	assert.False(t, a.SQL.Unused())
	n, err := a.Break(context.Background(), "10000")
	require.NoError(t, err)
	assert.EqualValues(t, 1, n)
}
