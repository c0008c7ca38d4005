package lock

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/backend/backendtest"
	"stockapi/internal/backend/sqldb"
)

// A release during a check of the connection does not count the connection as lost. With a TTL of zero there is always
// a check.
func TestSessionReleaseDuringCheck(t *testing.T) {
	t.Parallel()
	backendtest.EachSQLServer(t, func(t *testing.T, server *backendtest.SQLServer) {
		b := newRuntime(Backends{SQL: backendtest.OpenSQL(t, server.DSN)})
		for range 200 {
			lease, err := sqlSession(b)(context.Background(), "k", Options{})
			require.NoError(t, err)
			require.NoError(t, lease.Unlock(context.Background()))
		}
		assert.Equal(t, 1, b.SQL.SessionStats().OpenConnections, "one, again and again")
	})
}

// When v12-session has as many holders as it may have, v12 can still take its lock, renew it over several TTLs and
// release it. Breaking locks works, and the next order waits for one of the sessions, up to its own max wait.
func TestSessionsLeaveConnectionsToRows(t *testing.T) {
	t.Parallel()
	backendtest.EachSQLServer(t, func(t *testing.T, server *backendtest.SQLServer) {
		s := newShop(t, backendtest.StartEmbedded, 0)
		s.sql = server.DSN
		rows, sessions := s.instance(t, rung(t, "v12")), s.instance(t, rung(t, "v12-session"))
		rows.SQL = sessions.SQL // one process
		rows.rebuild()
		var held []*Lease
		for n := range 16 {
			held = append(held, sessions.lock(t, fmt.Sprint("held-", n), time.Minute))
		}
		var renewed atomic.Int64
		rows.OnRenew = func(bool) { renewed.Add(1) }
		rows.rebuild()
		assert.True(t, askAgain(t, true, func(longer time.Duration) bool {
			renewed.Store(0)
			lease := rows.lock(t, key(t), longer*slowTTL)
			over := func() bool { return renewed.Load() > 4 || lease.Context.Err() != nil }
			require.Eventually(t, over, time.Minute, 5*time.Millisecond)
			alive := lease.Context.Err() == nil
			return lease.Unlock(context.Background()) == nil && alive
		}), "the row is renewed")

		_, err := sessions.tryLock(context.Background(), "one-more", minute)
		require.ErrorIs(t, err, ErrBusy, "and not that the database is unavailable")
		require.ErrorIs(t, err, sqldb.ErrSessionsTaken)
		got := make(chan error, 1)
		go func() {
			lease, err := sessions.acquire(context.Background(), "one-more", time.Minute, minute)
			if err == nil {
				err = lease.Unlock(context.Background())
			}
			got <- err
		}()
		n, err := Backends{SQL: sessions.SQL}.breakSQL(context.Background(), "held-0")
		require.NoError(t, err)
		require.EqualValues(t, 1, n)
		require.ErrorIs(t, held[0].Unlock(context.Background()), ErrLost)
		require.NoError(t, <-got, "a session is free again, though its connection broke")
		for _, lease := range held[1:] {
			unlock(t, lease)
		}
		for n := range 16 {
			held[n] = sessions.lock(t, fmt.Sprint("again-", n), time.Minute)
		}
		for _, lease := range held {
			unlock(t, lease)
		}
	})
}

// The server's list of sessions shows which instance holds the lock.
func TestSessionListNamesInstance(t *testing.T) {
	t.Parallel()
	for kind, holder := range map[string]struct{ query, argument string }{
		backendtest.Postgres: {"SELECT application_name FROM pg_stat_activity JOIN pg_locks USING (pid)" +
			" WHERE locktype = 'advisory'", "--application_name=somebody"},
		backendtest.MariaDB: {"SELECT ATTR_VALUE FROM performance_schema.session_connect_attrs" +
			" WHERE ATTR_NAME = 'program_name' AND PROCESSLIST_ID = IS_USED_LOCK(SHA2('DistributedLock_10000', 256))",
			"--performance-schema"},
	} {
		t.Run(kind, func(t *testing.T) {
			ctx, server := context.Background(), backendtest.StartSQL(t, kind, holder.argument)
			db := backendtest.OpenSQLAs(t, server.DSN, "till 7, "+strings.Repeat("é", 99))
			lease, err := sqlSession(newRuntime(Backends{SQL: db}))(ctx, "DistributedLock_10000", minute)
			require.NoError(t, err)
			var name string
			require.NoError(t, backendtest.OpenSQL(t, server.DSN).QueryRowContext(ctx, holder.query).Scan(&name))
			assert.Equal(t, "stockapi till-7--"+strings.Repeat("-", 46), name)
			require.NoError(t, lease.Unlock(ctx))
		})
	}
}
