package lock

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/backend/backendtest"
	"stockapi/internal/backend/sqldb"
)

// v12-naive in each dialect. One row at a time, whoever inserts it; nothing ends it; any release deletes it.
func TestNaiveRows(t *testing.T) {
	t.Parallel()
	backendtest.EachSQL(t, func(t *testing.T, dsn string) {
		ctx := context.Background()
		s := newShop(t, backendtest.StartEmbedded, 0)
		s.sql = dsn
		a, b := s.instance(t, rung(t, "v12-naive")), s.instance(t, rung(t, "v12-naive"))
		t.Run("a name is taken once, and is its own product's", func(t *testing.T) {
			lease := a.lock(t, "one", time.Millisecond)
			assert.False(t, b.tryOnce(t, "one"), "no TTL ends it")
			assert.True(t, b.tryOnce(t, "ONE"), "another product")
			unlock(t, lease)
			assert.True(t, b.tryOnce(t, "one"))
		})
		t.Run("a release deletes whatever row is there", func(t *testing.T) {
			first := a.lock(t, "whose", time.Minute)
			removed, err := b.breakSQL(ctx, "whose") // somebody cleans up by hand
			require.NoError(t, err)
			require.EqualValues(t, 1, removed)
			b.lock(t, "whose", time.Minute)
			unlock(t, first)
			assert.True(t, a.tryOnce(t, "whose"), "while b holds it")
		})
		t.Run("it shares nothing with v12", func(t *testing.T) {
			lease := a.lock(t, "both", time.Minute)
			assert.True(t, s.instance(t, rung(t, "v12")).tryOnce(t, "both"))
			unlock(t, lease)
		})
		t.Run("a crowd", func(t *testing.T) { naiveCrowd(t, a, b) })
		t.Run("for tests, old rows are removed", func(t *testing.T) {
			lease := a.lock(t, "left", time.Minute)
			remove := func(ttl time.Duration) { // the first removal comes at once
				once, stop := context.WithTimeout(ctx, margin)
				defer stop()
				db := *b.SQL
				db.Around = func(ctx context.Context, _, _ string, do sqldb.Do) (int64, error) {
					defer stop()
					return do(ctx)
				}
				EndNaiveLocks(once, &db, ttl)
			}
			remove(time.Hour)
			assert.False(t, b.tryOnce(t, "left"))
			time.Sleep(20 * time.Millisecond)
			remove(10 * time.Millisecond)
			assert.True(t, b.tryOnce(t, "left"))
			unlock(t, lease)
		})
	})
}

// naiveCrowd lets many clients take one lock: one at a time gets it, and no release is lost.
func naiveCrowd(t *testing.T, instances ...*instance) {
	t.Helper()
	var inside, most atomic.Int64
	var all sync.WaitGroup
	for n := range 40 {
		all.Go(func() {
			lease, err := poll(context.Background(), 30*time.Second, fixed(5*time.Millisecond),
				func(ctx context.Context) (*Lease, error) {
					return instances[n%len(instances)].tryLock(ctx, "crowd", minute)
				})
			if !assert.NoError(t, err) {
				return
			}
			most.Store(max(most.Load(), inside.Add(1)))
			time.Sleep(time.Millisecond)
			inside.Add(-1)
			assert.NoError(t, lease.Unlock(context.Background()))
		})
	}
	all.Wait()
	assert.EqualValues(t, 1, most.Load())
}

// The removal of old rows creates no file, and no table in a database that nobody takes a lock in.
func TestOldNaiveRowsOfNobody(t *testing.T) {
	t.Parallel()
	db := backendtest.OpenSQL(t, backendtest.SQLiteFile(t))
	ctx, end := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer end()
	EndNaiveLocks(ctx, db, time.Hour)
	assert.True(t, db.Unused())
}
