// Package sqldb opens the SQL database that an instance may keep locks in. All statements about locks pass
// [DB.Statement], so that they can be traced and get faults. Read [Open], then [DB.Exec].
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

// A Kind names the SQL dialect of a database.
type Kind string

// The kinds of database.
const (
	SQLite     Kind = "sqlite"
	MySQL      Kind = "mysql" // and MariaDB
	PostgreSQL Kind = "postgres"
)

// A DB is a database for locks.
type DB struct {
	*sql.DB
	Kind Kind
	// Timeout bounds each statement, the wait for a connection included.
	Timeout time.Duration
	// Around, if set, wraps every statement about a lock, for traces and faults. It must call do, which returns how many
	// rows or locks the statement changed.
	Around func(ctx context.Context, statement, key string, do Do) (int64, error)

	// Instance is the instance's name in the form that a row can contain.
	Instance string

	file     string // the path of an SQLite file
	sessions sessions
}

// maxInstance bounds the instance's name in a row.
const maxInstance = 24

// A Do executes a statement and returns how many rows or locks it changed.
type Do func(ctx context.Context) (int64, error)

// Open returns the database of a DSN. It does not connect yet.
//
//	sqlite:///path/to/file                          a file that the processes of one machine share
//	mysql://user:password@host:3306/database        also mariadb://
//	postgres://user:password@host:5432/database     also postgresql://
//
// Query parameters are those of the drivers: modernc.org/sqlite, go-sql-driver/mysql, jackc/pgx.
func Open(dsn string, o backend.Options) (*DB, error) {
	if err := backend.CheckHash(dsn); err != nil {
		return nil, err
	}
	u, err := url.Parse(dsn)
	if err != nil {
		return nil, refused(dsn)
	}
	d := &DB{Timeout: o.Timeout, Instance: backend.SafeName(o.Name, maxInstance)}
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

// pooled sets the size of a pool of connections.
func pooled(db *sql.DB, size int) {
	db.SetMaxOpenConns(size)
	db.SetMaxIdleConns(size)
}

// Close closes all connections, and so ends the locks of sessions.
func (d *DB) Close() error {
	return errors.Join(d.DB.Close(), d.sessions.close())
}

// refused returns an error that explains the form of a DSN, instead of the driver's error, which quotes its password.
func refused(dsn string) error {
	return fmt.Errorf("%s cannot be used: a DSN is sqlite:///path/to/file, or mysql://, mariadb:// or postgres:// with "+
		"user:password@host:port/database and the driver's own parameters; special characters of a password have to be "+
		"escaped, @ as %%40 and / as %%2F", backend.Redact(dsn))
}

// Exec executes a statement about the lock called key, and returns how many rows it changed. Traces and faults know the
// statement by its name.
func (d *DB) Exec(ctx context.Context, name, key, query string, args ...any) (int64, error) {
	return d.Statement(ctx, name, key, func(ctx context.Context) (int64, error) {
		result, err := d.ExecContext(ctx, query, args...)
		if err != nil {
			return 0, err
		}
		return result.RowsAffected()
	})
}

// Statement executes do, a statement about the lock called key, inside Around and with the timeout of a statement,
// which includes the wait for a connection.
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

// Unused reports whether no lock can be in the database: its file does not exist yet, and a query would create it, or
// the instances of this user refuse to open it.
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

// Refused returns nil, or the reason why the instances of this user must not open the default file.
func (d *DB) Refused() error {
	if d.Kind != SQLite || filepath.Dir(d.file) != defaultDir() {
		return nil
	}
	if err := checkPrivate(defaultDir()); errors.Is(err, ErrNotPrivate) {
		return err
	}
	return nil
}

// Reach returns nil if the database answers within the timeout of a statement.
func (d *DB) Reach(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, d.Timeout)
	defer cancel()
	return d.PingContext(ctx)
}
