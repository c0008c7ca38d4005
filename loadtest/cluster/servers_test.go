package cluster

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/backend/backendtest"
	"stockapi/loadtest/catalog"
)

// onRedisServer returns a cluster with a backend of redis-server, or skips the test.
func onRedisServer(t *testing.T) (*Cluster, context.Context, *Backend) {
	t.Helper()
	_, err := exec.LookPath("redis-server")
	if err != nil {
		if strings.Contains(os.Getenv("STOCKAPI_REQUIRE"), "redis-server") {
			t.Fatal("no redis-server on PATH")
		}
		t.Skip("needs redis-server on PATH")
	}
	c, ctx := newCluster(t)
	c.options.Backend = "redis-server"
	b, err := c.ownRedis(ctx, "redis-server", c.redisServer)
	require.NoError(t, err)
	b.start = c.redisServer
	return c, ctx, b
}

func set(t *testing.T, rawURL, key string) {
	t.Helper()
	require.NoError(t, withClient(rawURL,
		func(c *redis.Client) error { return c.Set(t.Context(), key, "1", time.Minute).Err() }))
}

func TestRedisRestartKeepsAddressAndLosesKeys(t *testing.T) {
	c, ctx, b := onRedisServer(t)
	r, err := c.startRedis(ctx, b.start, "one")
	require.NoError(t, err)
	set(t, r.URL, "k")
	n, err := r.Keys(ctx)
	require.NoError(t, err)
	assert.EqualValues(t, 1, n)
	r.Kill()
	r.Kill() // a no-op
	_, err = r.Keys(ctx)
	require.Error(t, err)
	require.NoError(t, r.Restart(ctx))
	n, err = r.Keys(ctx)
	require.NoError(t, err)
	assert.Zero(t, n)
	require.NoError(t, ctx.Err(), "an expected exit does not end the run")
}

func TestExpireKeys(t *testing.T) {
	c, ctx, b := onRedisServer(t)
	r, err := c.startRedis(ctx, b.start, "one")
	require.NoError(t, err)
	set(t, r.URL, "k")
	require.NoError(t, withClient(r.URL, func(c *redis.Client) error { return c.Set(ctx, "for ever", "1", 0).Err() }))
	require.NoError(t, r.Expire(ctx))
	n, err := r.Keys(ctx)
	require.NoError(t, err)
	assert.EqualValues(t, 1, n, "keys without a TTL stay")
}

func TestPromotionOfAStaleReplica(t *testing.T) {
	c, ctx, b := onRedisServer(t)
	site, err := c.StartSite(ctx, b, on(catalog.Redis, catalog.Topology{ReplicatedLocks: true}))
	require.NoError(t, err)
	defer site.Close()
	pair := site.Pairs["locks"]
	assert.Equal(t, pair.URL, site.Backend(0).Locks)
	assert.Equal(t, b.URL, site.Backend(1).URL, "the stock stays where it is")
	set(t, pair.primary.URL, "seen")
	require.NoError(t, pair.PauseReplication(ctx))
	set(t, pair.primary.URL, "unseen")
	require.NoError(t, pair.FailOver(ctx))

	o, err := redis.ParseFailoverURL(pair.URL)
	require.NoError(t, err)
	client := redis.NewFailoverClient(o)
	defer client.Close()
	keys, err := client.Keys(ctx, "*").Result()
	require.NoError(t, err)
	assert.Equal(t, []string{"seen"}, keys)
	set(t, pair.replicas[0].URL, "written again")
}

// A Sentinel that does not promote by itself, because no replica has reported lately, is told to. A Sentinel that waits
// for a minute stands in for it.
func TestOverduePromotionIsForced(t *testing.T) {
	t.Parallel()
	backendtest.Long(t)
	c, ctx, b := onRedisServer(t)
	site, err := c.StartSite(ctx, b, on(catalog.Redis, catalog.Topology{ReplicatedLocks: true}))
	require.NoError(t, err)
	defer site.Close()
	pair := site.Pairs["locks"]
	require.NoError(t, pair.DelayPromotion(ctx, time.Minute))
	pair.delay = 0
	begun := time.Now()
	require.NoError(t, pair.FailOver(ctx))
	assert.Less(t, time.Since(begun), time.Minute)
}

func TestInstancesHaveTheirOwnLinks(t *testing.T) {
	c, ctx, b := onRedisServer(t)
	site, err := c.StartSite(ctx, b, on(catalog.Redis, catalog.Topology{Links: true, OwnLocks: true}))
	require.NoError(t, err)
	defer site.Close()
	set(t, site.Backend(0).Locks, "by a")
	n, err := site.Servers["locks"].Keys(ctx)
	require.NoError(t, err)
	assert.EqualValues(t, 1, n, "both links lead to one server")
	require.NoError(t, site.Links[0]["locks"].Cut())
	_, err = ping(ctx, site.Backend(0).Locks)
	require.Error(t, err)
	_, err = ping(ctx, site.Backend(0).URL)
	require.NoError(t, err, "its link to the stock works")
	_, err = ping(ctx, site.Backend(1).Locks)
	require.NoError(t, err, "the other's link to the locks works")
	assert.Equal(t, hostPort(site.Servers["locks"].(*Redis).URL), site.Behind()[hostPort(site.Backend(1).Locks)])
}

func TestEmbeddedRedisHasNoReplica(t *testing.T) {
	c, ctx := newCluster(t)
	c.options.Backend = "embedded"
	_, err := c.StartSite(ctx, &Backend{}, on(catalog.Redis, catalog.Topology{ReplicatedStock: true}))
	require.ErrorIs(t, err, ErrNeedsRedisServer)
}

func TestTimeoutFactor(t *testing.T) {
	assert.Empty(t, (&Backend{}).timeouts(true))
	assert.Empty(t, (&Backend{TimeoutFactor: 1}).timeouts(true))
	assert.Equal(t, []string{"--redlock-timeout", "200ms", "--redis-timeout", "4s", "--sql-timeout", "4s"},
		(&Backend{TimeoutFactor: 4}).timeouts(true))
}

// Crowds have no faults, so a late server means a slow machine: instances wait for it.
func TestInstancesWithoutFaultsArePatient(t *testing.T) {
	assert.Equal(t, []string{"--redlock-timeout", "500ms", "--redis-timeout", "10s", "--sql-timeout", "10s"},
		(&Backend{}).timeouts(false))
}

// on returns a cell of two instances whose rung locks on that kind of backend.
func on(kind catalog.Kind, topology catalog.Topology) catalog.Spec {
	return catalog.Spec{Instances: 2, Rung: catalog.Rung{Kind: kind}, Scenario: catalog.Scenario{Topology: topology}}
}
