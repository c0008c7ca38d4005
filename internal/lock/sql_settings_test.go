package lock

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/backend/backendtest"
	"stockapi/internal/backend/sqldb"
)

// An administrator or a DSN may choose these settings and parameters. A lock must not depend on them.
var (
	mariaDBSettings    = []string{"autocommit = 0", "sql_mode = ''", "wait_timeout = 1"}
	postgresSettings   = []string{"default_transaction_isolation = 'serializable'", "idle_session_timeout = '1s'"}
	mariaDBParameters  = []string{"clientFoundRows=true", "charset=latin1"}
	postgresParameters = []string{"default_transaction_read_only=on", "default_query_exec_mode=simple_protocol"}
)

// Under all settings of the server and all parameters of the DSN, one owner holds the lock at a time, a crowd gets
// through, and no release is refused.
func TestSQLIgnoresServerSettingsAndDSN(t *testing.T) {
	backendtest.EachSQLServer(t, func(t *testing.T, server *backendtest.SQLServer) {
		settings, set, parameters, and := mariaDBSettings, "SET GLOBAL ", mariaDBParameters, "?"
		if server.Kind() == backendtest.Postgres {
			settings, set, parameters, and = postgresSettings, "ALTER ROLE postgres SET ", postgresParameters, "&"
		}
		for _, parameter := range parameters {
			t.Run(parameter, func(t *testing.T) { oneAtATime(t, server.DSN+and+parameter) })
		}
		admin := backendtest.OpenSQL(t, server.DSN)
		for _, setting := range settings {
			t.Run(setting, func(t *testing.T) {
				_, err := admin.ExecContext(context.Background(), set+setting)
				require.NoError(t, err)
				t.Cleanup(func() { server.Reset(t) })
				oneAtATime(t, server.DSN)
				crowd(t, &table{db: backendtest.OpenSQL(t, server.DSN)}, &table{db: backendtest.OpenSQL(t, server.DSN)})
			})
		}
	})
}

// oneAtATime takes both kinds of a database's locks from two pools.
func oneAtATime(t *testing.T, dsn string) {
	t.Helper()
	ctx := context.Background()
	a, b := &table{db: backendtest.OpenSQL(t, dsn)}, &table{db: backendtest.OpenSQL(t, dsn)}
	require.NoError(t, a.ensure(ctx))
	if a.db.Kind == sqldb.PostgreSQL {
		var level string
		require.NoError(t, a.db.QueryRowContext(ctx, "SHOW transaction_isolation").Scan(&level))
		require.Equal(t, "read committed", level)
	}
	got := func(ok bool, err error) bool {
		require.NoError(t, err)
		return ok
	}
	require.True(t, got(a.acquire(ctx, "é", "a", time.Minute)))
	require.False(t, got(b.acquire(ctx, "é", "b", time.Minute)), "another got in")
	require.True(t, got(a.reacquire(ctx, "é", "a", time.Minute)), "the same owner again")
	require.NoError(t, a.release(ctx, "é", "a", 1))
	require.False(t, got(b.acquire(ctx, "é", "b", time.Minute)), "released once of twice")
	require.True(t, got(b.renew(ctx, "é", "a", time.Minute)))
	require.NoError(t, b.release(ctx, "é", "a", 0))
	require.ErrorIs(t, a.release(ctx, "é", "a", 0), ErrLost)
	require.True(t, got(b.acquire(ctx, "é", "b", time.Minute)))
	require.NoError(t, b.release(ctx, "é", "b", 0))
	one, err := sqlSession(newRuntime(Backends{SQL: a.db}))(ctx, "é", minute)
	require.NoError(t, err)
	_, err = sqlSession(newRuntime(Backends{SQL: b.db}))(ctx, "é", minute)
	require.ErrorIs(t, err, ErrBusy)
	require.NoError(t, one.Unlock(ctx))
}

// A renewal in the same millisecond as the acquire, or as the last renewal, would not change the row, and MySQL counts
// the rows that change. In this session the clock stands still, so all happens in one millisecond.
func TestSQLRenewalInTheSameMillisecond(t *testing.T) {
	t.Parallel()
	rows := &table{db: backendtest.OpenSQL(t, backendtest.StartSQL(t, backendtest.MariaDB).DSN+"?timestamp=2000000000")}
	ok, err := rows.acquire(context.Background(), "k", "a", time.Minute)
	require.NoError(t, err)
	require.True(t, ok)
	for range 3 {
		ok, err := rows.renew(context.Background(), "k", "a", time.Minute)
		require.NoError(t, err)
		require.True(t, ok, "it is held still")
	}
	require.NoError(t, rows.release(context.Background(), "k", "a", 0))
}

// A statement that the database aborted in favour of another has done nothing, and is sent again. Otherwise a release
// would leave the lock for its whole TTL, and a renewal would cancel the work.
func TestSQLContentionIsRetried(t *testing.T) {
	t.Parallel()
	for name, statement := range map[string]func(*table) error{
		"release": func(rows *table) error {
			err := rows.release(context.Background(), "k", "a", 0)
			ok, failed := rows.acquire(context.Background(), "k", "b", time.Minute)
			if !ok {
				failed = errors.Join(errors.New("not free"), failed)
			}
			return errors.Join(err, failed)
		},
		"renew": func(rows *table) error {
			ok, err := rows.renew(context.Background(), "k", "a", time.Minute)
			if err == nil && !ok {
				return ErrLost
			}
			return err
		},
		"remove": func(rows *table) error { _, err := rows.remove(context.Background(), "k"); return err },
	} {
		t.Run(name, func(t *testing.T) {
			rows := &table{db: backendtest.OpenSQL(t, backendtest.SQLiteFile(t))}
			ok, err := rows.acquire(context.Background(), "k", "a", time.Minute)
			require.NoError(t, err)
			require.True(t, ok)
			refuse := 3
			rows.db.Around = func(ctx context.Context, said, _ string, do sqldb.Do) (int64, error) {
				if said == name && refuse > 0 {
					refuse--
					return 0, &pgconn.PgError{Code: "40001"}
				}
				return do(ctx)
			}
			require.NoError(t, statement(rows))
			assert.Zero(t, refuse)
		})
	}
}

// A statement is not sent again without limit.
func TestSQLContentionRetriesAreLimited(t *testing.T) {
	t.Parallel()
	rows := &table{db: backendtest.OpenSQL(t, backendtest.SQLiteFile(t))}
	sent := 0
	rows.db.Around = func(ctx context.Context, said, _ string, do sqldb.Do) (int64, error) {
		if said != "release" {
			return do(ctx)
		}
		sent++
		return 0, &pgconn.PgError{Code: "40001"}
	}
	require.Error(t, rows.release(context.Background(), "k", "a", 0))
	assert.Equal(t, contendedTries, sent)
}

// An acquire that cannot have been executed is not undone: no sweep asks a database again that refuses connections, or
// creates no table.
func TestSQLAcquireNeverSentIsNotUndone(t *testing.T) {
	t.Parallel()
	for statement, refused := range map[string]error{
		"create":  &mysql.MySQLError{Number: 1142, Message: "CREATE command denied"},
		"acquire": &mysql.MySQLError{Number: 1040, Message: "Too many connections"},
	} {
		s := newShop(t, backendtest.StartEmbedded, 0)
		a := s.instance(t, rung(t, "v12"))
		var after []string
		a.SQL.Around = func(ctx context.Context, said, _ string, do sqldb.Do) (int64, error) {
			if said == statement && after == nil {
				after = []string{}
				return 0, refused
			}
			if after != nil {
				after = append(after, said)
			}
			return do(ctx)
		}
		_, err := a.tryLock(context.Background(), "k", minute)
		require.ErrorIs(t, err, refused)
		a.crash()
		a.Background.Wait()
		assert.Empty(t, after)
	}
}
