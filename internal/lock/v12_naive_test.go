package lock

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"stockapi/internal/backend/backendtest"
	"stockapi/internal/backend/sqldb"
)

// The behaviour of v12-naive that the conformance table does not test, in each dialect.
func TestNaiveRows(t *testing.T) {
	t.Parallel()
	backendtest.EachSQL(t, func(t *testing.T, dsn string) {
		s := newShop(t, backendtest.StartEmbedded, 0)
		s.sql = dsn
		a, b := s.instance(t, rung(t, "v12-naive")), s.instance(t, rung(t, "v12-naive"))
		t.Run("case matters", func(t *testing.T) {
			lease := a.lock(t, "one", time.Minute)
			assert.True(t, b.tryOnce(t, "ONE"), "another product")
			unlock(t, lease)
		})
		t.Run("it shares nothing with v12", func(t *testing.T) {
			lease := a.lock(t, "both", time.Minute)
			assert.True(t, s.instance(t, rung(t, "v12")).tryOnce(t, "both"))
			unlock(t, lease)
		})
		t.Run("for tests, old rows are removed", func(t *testing.T) {
			lease := a.lock(t, "left", time.Minute)
			remove := func(ttl time.Duration) { // the first removal comes at once
				once, stop := context.WithTimeout(t.Context(), margin)
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

// The removal of old rows creates no file, and no table in a database without locks.
func TestNaiveCleanUpCreatesNoDatabase(t *testing.T) {
	t.Parallel()
	db := backendtest.OpenSQL(t, backendtest.SQLiteFile(t))
	ctx, end := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer end()
	EndNaiveLocks(ctx, db, time.Hour)
	assert.True(t, db.Unused())
}
