package cluster

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/backend/backendtest"
	"stockapi/loadtest/catalog"
)

// refused checks that a Redis, possibly a Sentinel, rejects clients without its password.
func refused(t *testing.T, rawURL string) {
	t.Helper()
	u, err := url.Parse(rawURL)
	require.NoError(t, err)
	require.NoError(t, withClient((&url.URL{Scheme: u.Scheme, User: u.User, Host: u.Host}).String(),
		func(c *redis.Client) error { return c.Ping(t.Context()).Err() }))
	for _, stranger := range []string{"redis://" + u.Host, "redis://:guess@" + u.Host} {
		err = withClient(stranger, func(c *redis.Client) error { return c.Ping(t.Context()).Err() })
		require.Error(t, err)
		assert.Regexp(t, "^(NOAUTH|WRONGPASS) ", err.Error())
	}
}

// isPrivate checks that no command line shows the cluster's password, and that only its owner can read the files with
// it.
func isPrivate(t *testing.T, c *Cluster) {
	t.Helper()
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline") // none without /proc
	for _, path := range lines {
		line, _ := os.ReadFile(path) // its process may have ended
		assert.NotContains(t, string(line), c.password)
	}
	require.NoError(t, filepath.WalkDir(c.dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return nil //nolint:nilerr // a server's temporary file
		}
		text, _ := os.ReadFile(path)
		file, err1 := entry.Info()
		dir, err2 := os.Stat(filepath.Dir(path)) // a Sentinel that rewrites its file makes it readable to others
		if err1 == nil && err2 == nil && bytes.Contains(text, []byte(c.password)) {
			assert.True(t, file.Mode()&0o077 == 0 || dir.Mode()&0o077 == 0, path)
		}
		return nil
	}))
}

func TestAccessToRedisNeedsThePassword(t *testing.T) {
	c, ctx, b := onRedisServer(t)
	site, err := c.StartSite(ctx, b, on(catalog.Redis, catalog.Topology{ReplicatedLocks: true}))
	require.NoError(t, err)
	defer site.Close()
	pair := site.Pairs["locks"]
	for _, url := range []string{b.URL, pair.URL, pair.primary.URL, pair.replicas[0].URL, pair.replicas[1].URL} {
		refused(t, url)
	}
	assert.NotContains(t, b.Text, c.password)
	isPrivate(t, c)
}

func TestAccessToTheEmbeddedRedisNeedsThePassword(t *testing.T) {
	t.Parallel()
	backendtest.Long(t) // builds stockapi
	c, ctx := newCluster(t)
	c.options = Options{Backend: "embedded", Redlock: 5, Say: func(string) {}} // they all start at once
	_, err := c.FindStockapi(ctx)
	require.NoError(t, err)
	b, err := c.StartBackend(ctx)
	require.NoError(t, err)
	for _, url := range append(b.Redlock, b.URL) {
		refused(t, url)
	}
	assert.NotContains(t, b.Text, c.password)
	isPrivate(t, c)
}

// strangers are DSNs without the password.
var strangers = map[string][]string{
	MariaDB: {"root@tcp(127.0.0.1:%d)/", "tcp(127.0.0.1:%d)/test", "mysql@tcp(127.0.0.1:%d)/",
		"root:guess@tcp(127.0.0.1:%d)/"},
	Postgres: {"postgres://postgres@127.0.0.1:%d/postgres?sslmode=disable",
		"postgres://postgres:guess@127.0.0.1:%d/template1?sslmode=disable"},
}

func TestAccessToADatabaseNeedsThePassword(t *testing.T) {
	eachDatabase(t, func(t *testing.T, c *Cluster, ctx context.Context, kind *databaseKind) {
		require.NoError(t, c.install(ctx, kind))
		d, err := c.newDatabase(kind, "one")
		require.NoError(t, err)
		require.NoError(t, d.create(ctx))
		_, number, _ := strings.Cut(hostPort(d.URL), ":")
		port, err := strconv.Atoi(number)
		require.NoError(t, err)
		areRefused := func() {
			for _, dsn := range strangers[kind.name] {
				db, err := sql.Open(kind.driver, fmt.Sprintf(dsn, port))
				require.NoError(t, err)
				require.ErrorContains(t, db.PingContext(ctx), map[string]string{
					MariaDB: "Access denied", Postgres: "password authentication failed"}[kind.name], dsn)
				require.NoError(t, db.Close())
			}
		}
		areRefused()
		isPrivate(t, c)
		d.Kill()
		require.NoError(t, d.Restart(ctx))
		areRefused()
		_, err = d.Keys(ctx)
		require.NoError(t, err)
	})
}
