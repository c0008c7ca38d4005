package cluster

import (
	"context"
	"net"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/backend/backendtest"
	"stockapi/loadtest/catalog"
)

// eachDatabase runs a test on each installed kind of server. STOCKAPI_REQUIRE=mariadb,postgres makes a missing one a
// failure.
func eachDatabase(t *testing.T, test func(t *testing.T, c *Cluster, ctx context.Context, kind *databaseKind)) {
	t.Helper()
	t.Parallel()
	for _, kind := range databaseKinds {
		t.Run(kind.name, func(t *testing.T) {
			backendtest.Long(t)
			t.Parallel()
			missing := kind.missing()
			if missing != "" && strings.Contains(os.Getenv("STOCKAPI_REQUIRE"), kind.name) {
				t.Fatal(missing)
			}
			if missing != "" {
				t.Skip(missing)
			}
			c, ctx := newCluster(t)
			test(t, c, ctx, kind)
		})
	}
}

func TestDatabaseRestartKeepsAddressAndRows(t *testing.T) {
	eachDatabase(t, func(t *testing.T, c *Cluster, ctx context.Context, kind *databaseKind) {
		require.NoError(t, c.install(ctx, kind))
		d, err := c.newDatabase(kind, "one")
		require.NoError(t, err)
		require.NoError(t, d.create(ctx))
		holds := func(want int64, why string) {
			n, err := d.Keys(ctx)
			require.NoError(t, err)
			require.Equal(t, want, n, why)
		}
		holds(0, "nothing yet, and no table")
		db, err := d.open()
		require.NoError(t, err)
		defer db.Close()
		for _, statement := range []string{
			"CREATE TABLE stockapi_naive_locks (name VARCHAR(255))", "INSERT INTO stockapi_naive_locks VALUES ('naive')",
			"CREATE TABLE stockapi_locks (name VARCHAR(255), expires BIGINT)",
			"INSERT INTO stockapi_locks VALUES ('held', 4102444800000)", "INSERT INTO stockapi_locks VALUES ('released', 0)",
		} {
			_, err := db.ExecContext(ctx, statement)
			require.NoError(t, err)
		}
		holds(2, "a row of each")
		session, err := db.Conn(ctx)
		require.NoError(t, err)
		defer session.Close()
		_, err = session.ExecContext(ctx,
			map[string]string{MariaDB: "SELECT GET_LOCK('k', 0)", Postgres: "SELECT pg_advisory_lock(1)"}[kind.name])
		require.NoError(t, err)
		holds(3, "two rows and a session's")

		d.Kill()
		d.Kill() // a no-op
		_, err = d.Keys(ctx)
		require.Error(t, err)
		require.NoError(t, d.Restart(ctx))
		holds(2, "the rows survive, the session does not")
		require.NoError(t, d.Expire(ctx))
		d.Kill()
		d.remove()
		assert.NoDirExists(t, d.dir)
		require.NoError(t, ctx.Err(), "an expected exit does not end the run")
	})
}

// One server is shared by all cells that lock in it; a cell that faults it has its own.
func TestDatabasePlacement(t *testing.T) {
	eachDatabase(t, func(t *testing.T, c *Cluster, ctx context.Context, kind *databaseKind) {
		b := &Backend{URL: "redis://127.0.0.1:1"}
		c.options.SQL = kind.name
		require.NoError(t, c.placeSQL(ctx, b))
		assert.Empty(t, b.SQL, "no rung needs it")

		c.options.Database = true
		require.NoError(t, c.placeSQL(ctx, b))
		assert.Contains(t, b.Text, kind.title+", its own, at 127.0.0.1:")
		assert.Empty(t, b.Lasting().SQL, "a server of the run needs no cleaning up")
		site, err := c.StartSite(ctx, b, catalog.Spec{Instances: 1})
		require.NoError(t, err)
		assert.Empty(t, site.Backend(0).SQL, "this cell locks elsewhere")
		site.Close()
		site, err = c.StartSite(ctx, b, on(catalog.SQLSession, catalog.Topology{}))
		require.NoError(t, err)
		assert.Equal(t, b.SQL, site.Backend(0).SQL)
		conn, err := net.Dial("tcp", hostPort(b.SQL))
		require.NoError(t, err, "Ready waits until it has started")
		require.NoError(t, conn.Close())
		site.Close()

		site, err = c.StartSite(ctx, b, on(catalog.SQLRow, catalog.Topology{OwnLocks: true, Links: true}))
		require.NoError(t, err)
		defer site.Close()
		own := site.Servers["locks"].(*Database).URL
		assert.NotEqual(t, b.SQL, own)
		eachHasALink(t, site, own, func(i int) string { return site.Backend(i).SQL })
	})
}

// Closing the cluster also removes a server that is still being installed.
func TestCloseDuringInstallation(t *testing.T) {
	eachDatabase(t, func(t *testing.T, c *Cluster, ctx context.Context, kind *databaseKind) {
		c.options.Database, c.options.SQL = true, kind.name
		b := &Backend{}
		require.NoError(t, c.placeSQL(ctx, b))
		require.NoError(t, c.Close())
		require.ErrorIs(t, b.created(t.Context()), context.Canceled)
		_, err := net.Dial("tcp", hostPort(b.SQL))
		require.Error(t, err)
	})
}

func TestFaultsNeedAnOwnDatabase(t *testing.T) {
	c, ctx := newCluster(t)
	c.options.Database, c.options.SQL = true, SQLite
	b := &Backend{URL: "redis://127.0.0.1:1"}
	require.NoError(t, c.placeSQL(ctx, b))
	assert.Contains(t, b.Text, "v12 in an SQLite file")
	assert.Equal(t, b.SQL, b.Lasting().SQL)
	assert.False(t, b.foreignSQL)
	refused := func(want Needs, spec catalog.Spec) {
		_, err := c.StartSite(ctx, b, spec)
		require.ErrorIs(t, err, want)
	}
	refused(ErrNeedsDatabase, on(catalog.SQLSession, catalog.Topology{}))
	refused(ErrNeedsServer, on(catalog.SQLRow, catalog.Topology{Links: true}))
	refused(ErrNeedsServer, on(catalog.SQLRow, catalog.Topology{OwnLocks: true}))

	given, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	c.options.SQL = "mysql://u:secret@" + given.Addr().String() + "/shop"
	require.NoError(t, c.placeSQL(ctx, b))
	assert.Equal(t, c.options.SQL, b.Lasting().SQL)
	assert.True(t, b.foreignSQL, "so the locks of v12-naive there expire")
	refused(ErrNeedsOwnDatabase, on(catalog.SQLRow, catalog.Topology{OwnLocks: true}))
	site, err := c.StartSite(ctx, b, on(catalog.SQLRow, catalog.Topology{Links: true}))
	require.NoError(t, err)
	assert.Equal(t, given.Addr().String(), site.Behind()[hostPort(site.Backend(0).SQL)])
	site.Close()
	require.NoError(t, given.Close())
	_, err = c.StartBackend(ctx)
	require.ErrorContains(t, err, "no database at mysql://"+given.Addr().String())
	assert.NotContains(t, err.Error(), "secret")
}

// A missing server is reported with its remedy.
func TestMissingDatabase(t *testing.T) {
	all := databaseKinds
	defer func() { databaseKinds = all }()
	databaseKinds = []*databaseKind{
		{name: MariaDB, title: "MariaDB", program: "no-such-server"},
		{name: Postgres, title: "PostgreSQL", program: "nor-such"},
	}
	kind, note, err := chooseDatabase(AnySQL)
	require.NoError(t, err)
	assert.Nil(t, kind)
	assert.Equal(t, ", no MariaDB: there is no no-such-server here, no PostgreSQL: there is no nor-such here", note)
	_, _, err = chooseDatabase(Postgres)
	require.EqualError(t, err, "there is no nor-such here: install it, or use --sql sqlite")
}

func TestDefaultPorts(t *testing.T) {
	assert.Equal(t, "db:3306", hostPort("mariadb://u@db/shop"))
	assert.Equal(t, "db:5432", hostPort("postgres://u@db/shop"))
	assert.Equal(t, "db:1", hostPort("postgres://u@db:1/shop"))
}

// With --sql auto, a server that does not start is not an error: the run goes on without it.
func TestDatabaseFailsToStart(t *testing.T) {
	c, ctx := newCluster(t)
	t.Setenv("FLEET_TEST", "fails")
	c.options.SQL = AnySQL
	nothing := func(string, string) []string { return nil }
	kind := &databaseKind{name: "broken", title: "Broken", account: "root", installer: os.Args[0], install: nothing,
		dsn: "broken://127.0.0.1:%d"}
	b := &Backend{}
	require.NoError(t, c.startSQL(ctx, b, kind))
	var needs Needs
	require.ErrorAs(t, b.created(ctx), &needs)
	assert.Contains(t, needs.Error(), "needs a database that can be started: "+os.Args[0]+" failed (")
	c.options.SQL = "broken"
	require.NoError(t, c.startSQL(ctx, b, kind))
	require.NotErrorAs(t, b.created(ctx), &needs)
}
