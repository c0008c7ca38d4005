package cluster

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"
)

// A Database is a database server of the run. A restart keeps the rows, which are on disk before they are acknowledged,
// but not the sessions.
type Database struct {
	server // its URL is the DSN
	kind   *databaseKind
	dir    string
	client string // the DSN for the cluster's own queries

	cluster *Cluster
}

// newDatabase chooses a port and a directory for a server, without starting it.
func (c *Cluster) newDatabase(kind *databaseKind, name string) (*Database, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	d := &Database{kind: kind, dir: filepath.Join(c.dir, kind.name+"-"+strconv.Itoa(port)),
		client: fmt.Sprintf(kind.client, c.password, port), cluster: c}
	d.URL = fmt.Sprintf(kind.dsn, c.password, port)
	d.begin = func(ctx context.Context) (*child, error) {
		secret := filepath.Join(c.installed(kind), "secret")
		cmd, err := kind.command(d.dir, kind.program, kind.serve(d.dir, port, secret))
		if err != nil {
			return nil, err
		}
		p := &child{name: name, cmd: cmd, quits: kind.quits}
		_, err = c.start(ctx, p, says(kind.ready))
		return p, err
	}
	return d, nil
}

// installWithin bounds the creation of a data directory, which usually takes less than a second.
const installWithin = time.Minute

// install creates the data directory of which each server of that kind gets a copy.
func (c *Cluster) install(ctx context.Context, kind *databaseKind) error {
	ctx, cancel := context.WithTimeoutCause(ctx, installWithin,
		fmt.Errorf("%s did not finish within %s", kind.installer, installWithin))
	defer cancel()
	dir := c.installed(kind)
	secret, err := c.secret(dir, "secret", kind.secret)
	if err != nil {
		return err
	}
	if err := giveTo(kind.account, dir); err != nil {
		return err
	}
	cmd, err := kind.command(dir, kind.installer, kind.install(filepath.Join(dir, "data"), secret))
	if err != nil {
		return err
	}
	return (&child{name: kind.installer, cmd: cmd, quits: kind.quits}).runToEnd(ctx, c)
}

// installed returns the directory with a kind's data directory and secret, which only its account can read.
func (c *Cluster) installed(kind *databaseKind) string { return filepath.Join(c.dir, kind.name) }

// create creates the server's data directory and starts the server.
func (d *Database) create(ctx context.Context) error {
	if err := os.CopyFS(d.dir, os.DirFS(filepath.Join(d.cluster.installed(d.kind), "data"))); err != nil {
		return err
	}
	if err := giveTo(d.kind.account, d.dir); err != nil {
		return err
	}
	return d.Restart(ctx)
}

// remove removes the files of a killed server.
func (d *Database) remove() { _ = os.RemoveAll(d.dir) } // if that fails, the cluster removes them when it closes

// Queries for rows of v12, where a released one has expires = 0, and of v12-naive, which never expire.
const (
	tables    = `SELECT COUNT(*) FROM information_schema.tables WHERE table_name = 'stockapi_locks'`
	heldRows  = `SELECT COUNT(*) FROM stockapi_locks WHERE expires > 0`
	endRows   = `UPDATE stockapi_locks SET expires = 1 WHERE expires > 1`
	naive     = `SELECT COUNT(*) FROM information_schema.tables WHERE table_name = 'stockapi_naive_locks'`
	naiveRows = `SELECT COUNT(*) FROM stockapi_naive_locks`
)

// Keys counts the locks on the server: rows, and session locks.
func (d *Database) Keys(ctx context.Context) (int64, error) {
	db, err := d.open()
	if err != nil {
		return 0, err
	}
	defer func() { _ = db.Close() }()
	sum, err := number(ctx, db, d.kind.sessions)
	for _, t := range []struct{ table, rows string }{{tables, heldRows}, {naive, naiveRows}} {
		if err != nil {
			return 0, err
		}
		var n int64
		if n, err = number(ctx, db, t.table); err == nil && n > 0 {
			n, err = number(ctx, db, t.rows)
		}
		sum += n
	}
	return sum, err
}

// Queued returns 0: a database has no queue of waiters.
func (d *Database) Queued(context.Context) (int64, error) { return 0, nil }

// Expire expires all rows, as if the server's clock had jumped past them. Session locks do not expire.
func (d *Database) Expire(ctx context.Context) error {
	db, err := d.open()
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	if made, err := number(ctx, db, tables); err != nil || made == 0 {
		return err
	}
	_, err = db.ExecContext(ctx, endRows)
	return err
}

func (d *Database) open() (*sql.DB, error) {
	return sql.Open(d.kind.driver, d.client)
}

func number(ctx context.Context, db *sql.DB, query string) (n int64, err error) {
	err = db.QueryRowContext(ctx, query).Scan(&n)
	return n, err
}
