// Package sqldb opens the SQL database that an instance may keep locks in, and is the one place where its statements
// pass, so that they can be watched and disturbed. Read [Open], then [DB.Exec].
package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"stockapi/internal/backend"
)

// A Kind is the SQL that a database speaks.
type Kind string

// The kinds of database.
const (
	SQLite     Kind = "sqlite"
	MySQL      Kind = "mysql" // and MariaDB
	PostgreSQL Kind = "postgres"
)

// DB is a database.
type DB struct {
	*sql.DB
	Kind Kind
	// Timeout bounds each statement, the wait for a connection included.
	Timeout time.Duration
	// Around, where it is set, is called with every statement about a lock, for those who watch statements or disturb
	// them. It has to call do, which returns what the statement did: a number of rows or locks.
	Around func(ctx context.Context, statement, key string, do Do) (int64, error)

	// Instance is the name of who uses the database, as it can stand in a row of it.
	Instance string

	file     string // of SQLite
	sessions sessions
}

// maxInstance bounds the name of an instance in a row.
const maxInstance = 24

// A Do carries a statement out, and returns how many rows or locks it changed.
type Do func(ctx context.Context) (int64, error)

// Open returns the database that a DSN names, without connecting yet.
//
//	sqlite:///path/to/file                          a file that the processes of one machine share
//	mysql://user:password@host:3306/database        also mariadb://
//	postgres://user:password@host:5432/database     also postgresql://
//
// Query parameters are those of the drivers: modernc.org/sqlite, go-sql-driver/mysql, jackc/pgx.
func Open(dsn string, o backend.Options) (*DB, error) {
	u, err := url.Parse(dsn)
	if err != nil {
		return nil, refused(dsn)
	}
	d := &DB{Timeout: o.Timeout, Instance: backend.Plain(o.Name, maxInstance)}
	open := func() (*sql.DB, error) { return nil, errors.ErrUnsupported }
	switch u.Scheme {
	case "sqlite":
		d.Kind, d.file = SQLite, filePath(u)
		open = func() (*sql.DB, error) { return openSQLite(u, o) }
	case "mysql", "mariadb":
		d.Kind = MySQL
		open = func() (*sql.DB, error) { return openMySQL(u, o) }
	case "postgres", "postgresql":
		d.Kind = PostgreSQL
		open = func() (*sql.DB, error) { return openPostgreSQL(dsn, o) }
	}
	if d.DB, err = open(); err == nil && d.Kind != SQLite {
		pooled(d.DB, o.PoolSize)
		d.sessions, err = openSessions(open, o.PoolSize)
	}
	if err != nil {
		return nil, refused(dsn)
	}
	return d, nil
}

// pooled bounds how many connections there are at once.
func pooled(db *sql.DB, size int) {
	db.SetMaxOpenConns(size)
	db.SetMaxIdleConns(size)
}

// Close closes all connections. What sessions hold ends with them.
func (d *DB) Close() error {
	return errors.Join(d.DB.Close(), d.sessions.close())
}

// refused says what a DSN looks like, in place of a driver's error, which quotes it with its password.
func refused(dsn string) error {
	return fmt.Errorf("%s cannot be used: a DSN is sqlite:///path/to/file, or mysql://, mariadb:// or postgres:// with "+
		"user:password@host:port/database and the driver's own parameters; special characters of a password have to be "+
		"escaped, @ as %%40 and / as %%2F", backend.Redact(dsn))
}

// Exec sends a statement about the lock called key, under a name for those who watch. It returns how many rows it
// changed.
func (d *DB) Exec(ctx context.Context, name, key, query string, args ...any) (int64, error) {
	return d.Statement(ctx, name, key, func(ctx context.Context) (int64, error) {
		result, err := d.ExecContext(ctx, query, args...)
		if err != nil {
			return 0, err
		}
		return result.RowsAffected()
	})
}

// Statement shows what do does to the lock called key to those who watch, and ends do's context after the time that a
// statement has, the wait for a connection included.
func (d *DB) Statement(ctx context.Context, name, key string, do Do) (int64, error) {
	bounded := func(ctx context.Context) (int64, error) {
		ctx, cancel := context.WithTimeout(ctx, d.Timeout)
		defer cancel()
		return do(ctx)
	}
	if d.Around == nil {
		return bounded(ctx)
	}
	return d.Around(ctx, name, key, bounded)
}

// Unused reports whether the database is a file that is not there yet: nobody has a lock in it, and to look would make
// it. Nor can anybody have one where this user's instances refuse to open it.
func (d *DB) Unused() bool {
	if d.Kind != SQLite {
		return false
	}
	if d.Refused() != nil {
		return true
	}
	_, err := os.Stat(d.file)
	return errors.Is(err, os.ErrNotExist)
}

// Refused returns why a file that is there cannot be opened by this user's instances, or nil.
func (d *DB) Refused() error {
	if d.Kind != SQLite || filepath.Dir(d.file) != defaultDir() {
		return nil
	}
	if err := checkPrivate(defaultDir()); errors.Is(err, ErrNotPrivate) {
		return err
	}
	return nil
}

// Reach returns nil if the database answers within the time that a statement has.
func (d *DB) Reach(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, d.Timeout)
	defer cancel()
	return d.PingContext(ctx)
}
