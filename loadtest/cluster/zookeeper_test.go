package cluster

import (
	"context"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/backend/backendtest"
	"stockapi/loadtest/catalog"
)

// needZooKeeper skips the test if ZooKeeper is missing, or fails it if it is required.
func needZooKeeper(t *testing.T) {
	t.Helper()
	missing := zooKeeperMissing()
	if missing != "" && strings.Contains(os.Getenv("STOCKAPI_REQUIRE"), "zookeeper") {
		t.Fatal(missing)
	}
	if missing != "" {
		t.Skip(missing)
	}
	backendtest.Long(t)
}

func TestZooKeeperRestartKeepsAddress(t *testing.T) {
	needZooKeeper(t)
	c, ctx := newCluster(t)
	z, err := c.startZooKeeper(ctx, "one")
	require.NoError(t, err)
	n, err := z.Keys(ctx)
	require.NoError(t, err)
	assert.Zero(t, n)
	z.Kill()
	z.Kill() // a no-op
	_, err = z.Keys(ctx)
	require.Error(t, err)
	require.NoError(t, z.Restart(ctx))
	_, err = z.Keys(ctx)
	require.NoError(t, err)
	require.Error(t, z.Expire(ctx), "it must not succeed silently")
	require.NoError(t, ctx.Err(), "an expected exit does not end the run")
}

// eachHasALink checks that cutting the first instance's link leaves the second instance's link up.
func eachHasALink(t *testing.T, site *Site, server string, of func(i int) string) {
	t.Helper()
	assert.Equal(t, hostPort(server), site.Behind()[hostPort(of(1))])
	require.NoError(t, site.Links[0]["locks"].Cut())
	_, err := net.Dial("tcp", hostPort(of(0)))
	require.Error(t, err)
}

// An ensemble of three goes on with two servers, under a leader, and not with one.
func TestEnsembleNeedsAMajority(t *testing.T) {
	t.Parallel()
	needZooKeeper(t)
	c, ctx := newCluster(t)
	site, err := c.StartSite(ctx, &Backend{URL: "redis://127.0.0.1:1", ZooKeeper: "zookeeper://127.0.0.1:1"},
		on(catalog.ZooKeeper, catalog.Topology{Ensemble: true, Links: true}))
	require.NoError(t, err)
	servers := site.Ensemble
	var hosts []string
	for _, z := range servers {
		hosts = append(hosts, hostPort(z.URL))
	}
	assert.Equal(t, "zookeeper://"+strings.Join(hosts, ","), site.Backend(1).ZooKeeper)
	assert.NotContains(t, site.Links[0], "locks", "its servers are killed; its links are not cut")

	leader := func() int {
		return slices.IndexFunc(servers, func(z *ZooKeeper) bool {
			leads, err := z.Leads(ctx)
			return leads && err == nil
		})
	}
	lose := func(i int) {
		servers[i].Kill()
		servers = slices.Delete(slices.Clone(servers), i, i+1)
	}
	lose(leader())
	require.NoError(t, waitUntil(ctx, "two elect a leader", func() (bool, error) { return leader() >= 0, nil }))
	lose(leader())
	require.NoError(t, waitUntil(ctx, "one does not serve", func() (bool, error) {
		_, err := servers[0].Keys(ctx)
		return err != nil, nil
	}))
	gone := slices.IndexFunc(site.Ensemble, func(z *ZooKeeper) bool { return z != servers[0] })
	require.NoError(t, site.Ensemble[gone].Restart(ctx), "with it there is a majority again")

	short, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
	defer cancel()
	_, err = c.startEnsemble(short)
	require.ErrorIs(t, err, context.DeadlineExceeded, "a second ensemble has no time to start")
	site.Close()
	for _, z := range site.Ensemble {
		assert.True(t, z.exitsWithin(0))
	}
}

// One ZooKeeper is shared by all cells that need one; a cell that faults it has its own.
func TestZooKeeperPlacement(t *testing.T) {
	needZooKeeper(t)
	c, ctx := newCluster(t)
	b := &Backend{URL: "redis://127.0.0.1:1"}
	require.NoError(t, c.reachZooKeeper(ctx, b))
	assert.Empty(t, b.ZooKeeper, "no rung needs it")

	c.options.ZooKeeper = true
	require.NoError(t, c.reachZooKeeper(ctx, b))
	site, err := c.StartSite(ctx, b, catalog.Spec{Instances: 1})
	require.NoError(t, err)
	assert.Empty(t, site.Backend(0).ZooKeeper, "this cell locks elsewhere")
	site.Close()
	site, err = c.StartSite(ctx, b, on(catalog.ZooKeeper, catalog.Topology{OwnLocks: true, Links: true}))
	require.NoError(t, err)
	defer site.Close()
	own := site.Servers["locks"].(*ZooKeeper).URL
	assert.NotEqual(t, b.ZooKeeper, own)
	eachHasALink(t, site, own, func(i int) string { return site.Backend(i).ZooKeeper })

	c.options.ZooKeeperAddress = "127.0.0.1:1"
	require.ErrorContains(t, c.reachZooKeeper(ctx, b), "no ZooKeeper at 127.0.0.1:1")
}
