package cluster

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/catalog"
)

// needZooKeeper skips the test where there is none, or fails it where there has to be one.
func needZooKeeper(t *testing.T) {
	t.Helper()
	missing := zooKeeperMissing()
	if missing != "" && strings.Contains(os.Getenv("STOCKAPI_REQUIRE"), "zookeeper") {
		t.Fatal(missing)
	}
	if missing != "" {
		t.Skip(missing)
	}
}

func TestAZooKeeperComesBackAtItsAddress(t *testing.T) {
	needZooKeeper(t)
	c, ctx := newCluster(t)
	defer func() { require.NoError(t, c.Close()) }()
	z, err := c.startZooKeeper(ctx, "one")
	require.NoError(t, err)
	n, err := z.Keys(ctx)
	require.NoError(t, err)
	assert.Zero(t, n)
	z.Kill()
	z.Kill() // no harm
	_, err = z.Keys(ctx)
	require.Error(t, err)
	require.NoError(t, z.Restart(ctx))
	_, err = z.Keys(ctx)
	require.NoError(t, err)
	require.Error(t, z.Expire(ctx), "what cannot be done is not passed over")
	require.NoError(t, ctx.Err(), "a death that was asked for is no news")
}

// eachHasALink checks that the second instance reaches the server, and the first one no more when its link is cut.
func eachHasALink(t *testing.T, site *Site, server string, of func(i int) string) {
	t.Helper()
	assert.Equal(t, hostPort(server), site.Behind()[hostPort(of(1))])
	require.NoError(t, site.Links[0]["locks"].Cut())
	_, err := net.Dial("tcp", hostPort(of(0)))
	require.Error(t, err)
}

// An ensemble of three goes on with two servers, under a leader, and not with one. The next cell gets it whole.
func TestAnEnsembleNeedsAMajority(t *testing.T) {
	needZooKeeper(t)
	c, ctx := newCluster(t)
	defer func() { require.NoError(t, c.Close()) }()
	site, err := c.StartSite(ctx, &Backend{URL: "redis://127.0.0.1:1", ZooKeeper: "zookeeper://127.0.0.1:1"},
		on(catalog.ZooKeeper, catalog.Topology{Ensemble: true, Links: true}))
	require.NoError(t, err)
	servers := site.Ensemble.Servers
	var hosts []string
	for _, z := range servers {
		hosts = append(hosts, hostPort(z.URL))
	}
	assert.Equal(t, "zookeeper://"+strings.Join(hosts, ","), site.Backend(1).ZooKeeper)
	assert.NotContains(t, site.Links[0], "locks", "its servers are killed, and its links are not cut")

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
	require.NoError(t, waitUntil(ctx, "one serves nobody", func() (bool, error) {
		_, err := servers[0].Keys(ctx)
		return err != nil, nil
	}))
	gone := slices.IndexFunc(site.Ensemble.Servers, func(z *ZooKeeper) bool { return z != servers[0] })
	require.NoError(t, site.Ensemble.Servers[gone].Restart(ctx), "with it there is a majority again")

	short, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
	defer cancel()
	_, err = c.startEnsemble(short)
	require.ErrorIs(t, err, context.DeadlineExceeded, "another one waits")
	site.Close()

	site, err = c.StartSite(ctx, &Backend{URL: "redis://127.0.0.1:1", ZooKeeper: "zookeeper://127.0.0.1:1"},
		on(catalog.ZooKeeper, catalog.Topology{Ensemble: true, Links: true}))
	require.NoError(t, err)
	assert.Equal(t, "zookeeper://"+strings.Join(hosts, ","), site.Backend(1).ZooKeeper, "the next cell gets the same ones")
	servers = site.Ensemble.Servers
	whole, err := led(ctx, servers)
	require.NoError(t, err)
	assert.True(t, whole, "all three run again, and one leads")
	killAll(servers)
	site.Close()
}

// The next cell gets the ZooKeeper that a cell has given back, without the nodes and the locks of that cell.
func TestASpareZooKeeperIsAsGoodAsNew(t *testing.T) {
	needZooKeeper(t)
	c, ctx := newCluster(t)
	defer func() { require.NoError(t, c.Close()) }()
	z, err := c.startZooKeeper(ctx, "one")
	require.NoError(t, err)
	conn, _, err := zk.Connect([]string{hostPort(z.URL)}, time.Minute, zk.WithLogInfo(false), zk.WithLogger(silence{}))
	require.NoError(t, err)
	defer conn.Close()
	for node, flags := range map[string]int32{"/a": 0, "/lock": zk.FlagEphemeral} {
		_, err = conn.Create(node, nil, flags, zk.WorldACL(zk.PermAll))
		require.NoError(t, err)
	}
	_, err = conn.Create("/a/below", nil, 0, zk.WorldACL(zk.PermAll))
	require.NoError(t, err)
	clean, err := empty(ctx, []*ZooKeeper{z})
	require.NoError(t, err)
	require.False(t, clean)

	c.giveBack([]*ZooKeeper{z})
	assert.Nil(t, c.takeSpare(ctx, ensembleSize), "one alone is no ensemble")
	require.Equal(t, []*ZooKeeper{z}, c.takeSpare(ctx, 1))
	assert.Nil(t, c.takeSpare(ctx, 1), "it is taken")
	clean, err = empty(ctx, []*ZooKeeper{z})
	require.NoError(t, err)
	assert.True(t, clean)
	names, _, err := conn.Children("/")
	require.NoError(t, err)
	assert.Equal(t, []string{"zookeeper"}, names)

	over, cancel := context.WithCancel(ctx)
	cancel()
	c.giveBack([]*ZooKeeper{z})
	assert.Nil(t, c.takeSpare(over, 1), "one that cannot be renewed is no spare")
	assert.True(t, z.exitsWithin(0))
	c.giveBack([]*ZooKeeper{{child: z.child}})
	assert.Nil(t, c.spares.take(1), "one that did not start is no spare")
}

// One ZooKeeper is started for all cells that need one; one that is harmed is a cell's own.
func TestWhereZooKeeperIs(t *testing.T) {
	needZooKeeper(t)
	c, ctx := newCluster(t)
	defer func() { require.NoError(t, c.Close()) }()
	b := &Backend{URL: "redis://127.0.0.1:1"}
	require.NoError(t, c.reachZooKeeper(ctx, b))
	assert.Empty(t, b.ZooKeeper, "nobody asked")

	c.options.ZooKeeper = true
	require.NoError(t, c.reachZooKeeper(ctx, b))
	site, err := c.StartSite(ctx, b, catalog.Spec{Instances: 1})
	require.NoError(t, err)
	assert.Empty(t, site.Backend(0).ZooKeeper, "this cell locks elsewhere")
	site.Close()
	site, err = c.StartSite(ctx, b, on(catalog.ZooKeeper, catalog.Topology{OwnLocks: true, Links: true}))
	require.NoError(t, err)
	defer site.Close()
	assert.NotEqual(t, b.ZooKeeper, site.ZooKeeper.URL)
	eachHasALink(t, site, site.ZooKeeper.URL, func(i int) string { return site.Backend(i).ZooKeeper })

	c.options.ZooKeeperAddress = "127.0.0.1:1"
	require.ErrorContains(t, c.reachZooKeeper(ctx, b), "no ZooKeeper at 127.0.0.1:1")
}

// A ZooKeeper starts from the archive of its classes, and without one where Java cannot make any.
func TestTheClassesOfAZooKeeperAreArchived(t *testing.T) {
	needZooKeeper(t)
	c, ctx := newCluster(t)
	defer func() { require.NoError(t, c.Close()) }()
	c.options.ZooKeeper, c.options.OwnZooKeepers = true, archivePays
	require.NoError(t, c.reachZooKeeper(ctx, &Backend{}))
	if c.classes == "" {
		t.Skip("this Java makes no archive")
	}
	z, err := c.startZooKeeper(ctx, "one")
	require.NoError(t, err)
	loaded, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", z.cmd.Process.Pid))
	if err == nil { // only Linux tells
		assert.Contains(t, string(loaded), c.classes)
	}

	c.classes = ""
	t.Setenv("PATH", t.TempDir())
	old := "#!/bin/sh\necho Unrecognized VM option\nexit 1\n"
	require.NoError(t, os.WriteFile(filepath.Join(os.Getenv("PATH"), "java"), []byte(old), 0o700))
	c.archiveClasses(ctx)
	assert.Empty(t, c.classes)
	require.NoError(t, ctx.Err(), "the run goes on")
}

func TestTheZooKeepersOfACellAreCounted(t *testing.T) {
	assert.Equal(t, 3, OwnZooKeepers(on(catalog.ZooKeeper, catalog.Topology{Ensemble: true})))
	assert.Equal(t, 1, OwnZooKeepers(on(catalog.ZooKeeper, catalog.Topology{OwnLocks: true})))
	assert.Zero(t, OwnZooKeepers(on(catalog.ZooKeeper, catalog.Topology{Links: true})), "it shares the run's")
	assert.Zero(t, OwnZooKeepers(on(catalog.Redis, catalog.Topology{OwnLocks: true, Ensemble: true})))
}
