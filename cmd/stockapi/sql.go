package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"

	"stockapi/internal/backend"
	"stockapi/internal/backend/sqldb"
	"stockapi/internal/trace"
)

// noSQL is the value of --sql for no database, and so no v12.
const noSQL = "none"

// sqlPool is the number of connections of an instance for v12, and again for the holders of v12-session. Three
// instances then stay below the hundred connections that PostgreSQL allows by default. More would not help: the
// statements would wait for the same row.
const sqlPool = 16

// openSQL opens the database of v12, or returns nil for --sql none. The DSN has to be valid, but the database need not
// answer: until it does, v12 answers 503, and the other rungs work. The default file is not touched before v12 sells.
func openSQL(
	ctx context.Context, c *config, observer trace.Observer, log *slog.Logger,
) (*sqldb.DB, error) {
	dsn := c.SQL
	switch dsn {
	case noSQL:
		return nil, nil //nolint:nilnil // no database is a choice, not an error
	case "":
		dsn = sqldb.Default()
	}
	db, err := sqldb.Open(dsn, backend.Options{Timeout: c.SQLTimeout, PoolSize: sqlPool, Name: c.Instance})
	if err != nil {
		return nil, fmt.Errorf("--sql: %w", err)
	}
	db.Around = observer.SQL(sqlNode(dsn))
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

// sqlNode returns the name of a database in traces: its address or its file.
func sqlNode(dsn string) string {
	u, err := url.Parse(dsn)
	if err != nil || u.Scheme == "sqlite" {
		return backend.Redact(dsn)
	}
	return backend.Address(dsn)
}

// sqlNote describes which instances share the locks of v12.
func sqlNote(c *config) string {
	if c.SQL == "" {
		return "in an SQLite file, for this user's instances on this machine: --sql names another, or a server"
	}
	if c.SQL == noSQL {
		return ""
	}
	return "in " + backend.Redact(c.SQL)
}
