package cluster

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"strings"
)

// The values of --sql besides a DSN: a server of the run, or a file.
const (
	AnySQL   = "auto" // the first server that is installed, else a file
	SQLite   = "sqlite"
	MariaDB  = "mariadb"
	Postgres = "postgres"
)

// Databases are the values of --sql besides a DSN.
var Databases = []string{AnySQL, SQLite, MariaDB, Postgres}

// placeSQL decides where the locks of v12 are kept. A server of the run starts in the background, and only cells that
// use it wait for it.
func (c *Cluster) placeSQL(ctx context.Context, b *Backend) error {
	if !c.options.Database {
		return nil
	}
	kind, note, err := chooseDatabase(c.options.SQL)
	switch {
	case err != nil:
		return err
	case kind != nil:
		b.Text += note
		return c.startSQL(ctx, b, kind)
	case isFile(c.options.SQL), strings.Contains(c.options.SQL, "://"):
		where := "at"
		if isFile(c.options.SQL) {
			where = "in"
		}
		b.SQL, b.foreignSQL = c.options.SQL, true
		b.Text += ", v12 " + where + " " + redact(b.SQL)
		return nil
	}
	b.SQL = "sqlite:///" + strings.TrimPrefix(filepath.ToSlash(filepath.Join(c.dir, "locks.db")), "/")
	b.Text += note + ", v12 in an SQLite file"
	return nil
}

// chooseDatabase returns the kind of server that was asked for, or that is installed, and a note about missing ones.
// The kind is nil if the locks are in a file or at a DSN.
func chooseDatabase(want string) (kind *databaseKind, note string, err error) {
	for _, k := range databaseKinds {
		missing := k.missing()
		switch {
		case want == k.name && missing != "":
			return nil, "", fmt.Errorf("%s: install it, or use --sql %s", missing, SQLite)
		case want == k.name, want == AnySQL && missing == "":
			return k, note, nil
		case want == AnySQL:
			note += ", no " + k.title + ": " + missing
		}
	}
	return nil, note, nil
}

// startSQL starts the database server that all cells share, in the background.
func (c *Cluster) startSQL(ctx context.Context, b *Backend, kind *databaseKind) error {
	d, err := c.newDatabase(kind, kind.title)
	if err != nil {
		return err
	}
	created := make(chan struct{})
	c.tasks.Go(func() {
		defer close(created)
		if err = c.install(ctx, kind); err == nil {
			err = d.create(ctx)
		}
		if err != nil && ctx.Err() == nil && c.options.SQL == AnySQL {
			err = Needs("needs a database that can be started: " + err.Error()) // the user did not ask for this kind
		}
	})
	b.SQL, b.kind = d.URL, kind
	b.Text += ", " + kind.title + ", its own, at " + hostPort(d.URL)
	b.created = func(ctx context.Context) error {
		select {
		case <-created:
			return err
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// reachSQL checks that a server listens at the DSN, if one was given.
func (c *Cluster) reachSQL(ctx context.Context) error {
	dsn := c.options.SQL
	if !c.options.Database || isFile(dsn) || !strings.Contains(dsn, "://") {
		return nil
	}
	if err := reach(ctx, hostPort(dsn)); err != nil {
		return fmt.Errorf("no database at %s: %w", redact(dsn), err)
	}
	return nil
}

// reach returns an error if nothing listens at the address.
func reach(ctx context.Context, address string) error {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	return conn.Close()
}

func isFile(dsn string) bool { return strings.HasPrefix(dsn, "sqlite:") }
