package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"strconv"
	"time"

	"stockapi/internal/backend"
	"stockapi/internal/backend/sqldb"
	"stockapi/internal/fault"
	"stockapi/internal/metrics"
	"stockapi/internal/trace"
)

// noSQL is the value of --sql that does without a database, and without v12.
const noSQL = "none"

// sqlPool is how many connections an instance keeps at most for v12, and as many again for the holders of v12-session:
// three instances have to get along with the hundred that PostgreSQL allows unless it is told otherwise, and more
// statements at once would only wait for the same row.
const sqlPool = 16

// openSQL opens the database of v12, or returns nil if there is to be none. One that was named has to make sense, but
// needs not answer: the other rungs do without it, and v12 says so until it does. The default, a file, is not touched
// before v12 is asked for.
func openSQL(ctx context.Context, c *config, m *metrics.Metrics, faults *fault.Injector, log *slog.Logger) (*sqldb.DB, error) {
	dsn := c.SQL
	switch dsn {
	case noSQL:
		return nil, nil //nolint:nilnil // having none is a choice, and no error
	case "":
		dsn = sqldb.Default()
	}
	db, err := sqldb.Open(dsn, backend.Options{Timeout: c.SQLTimeout, PoolSize: sqlPool, Name: c.Instance})
	if err != nil {
		return nil, fmt.Errorf("--sql: %w", err)
	}
	db.Around = observeSQL(sqlNode(dsn), m, faults)
	if c.SQL == "" {
		if err := db.Refused(); err != nil {
			log.Warn("v12 answers 503: its file is not safe", "err", err)
		}
		return db, nil
	}
	if err := db.Reach(ctx); err != nil {
		log.Warn("no database for v12: it answers 503 until there is one; the other rungs are not affected",
			"sql", backend.Redact(dsn), "err", err)
	}
	return db, nil
}

// observeSQL counts and records statements, and lets faults happen around them, as the hooks of the Redis clients do.
func observeSQL(
	node string, m *metrics.Metrics, faults *fault.Injector,
) func(context.Context, string, string, sqldb.Do) (int64, error) {
	return func(ctx context.Context, statement, key string, do sqldb.Do) (int64, error) {
		name := "sql:" + statement
		if faults != nil {
			faults.At(ctx, false, name, key)
			defer faults.At(ctx, true, name, key)
		}
		m.Commands.Inc()
		event := trace.Event{Node: node, Cmd: name, Key: key, At: time.Now()}
		n, err := do(ctx)
		event.End, event.Reply = time.Now(), strconv.FormatInt(n, 10)
		if err != nil {
			event.Reply, event.Err = "", err.Error()
		}
		trace.From(ctx).Note(event)
		return n, err
	}
}

// sqlNode names a database in traces: by its address, or by its file.
func sqlNode(dsn string) string {
	u, err := url.Parse(dsn)
	if err != nil || u.Scheme == "sqlite" {
		return backend.Redact(dsn)
	}
	return backend.Address(dsn)
}

// sqlNote says how far the locks of v12 reach.
func sqlNote(c *config) string {
	if c.SQL == "" {
		return "in an SQLite file, for this user's instances on this machine: --sql names another, or a server"
	}
	if c.SQL == noSQL {
		return ""
	}
	return "in " + backend.Redact(c.SQL)
}
