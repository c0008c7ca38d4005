package backendtest

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"stockapi/internal/backend"
)

// StartCluster starts a Redis Cluster of one node, which holds all slots, and returns its URL.
func StartCluster(t testing.TB) string {
	t.Helper()
	Require(t)
	dir, port := t.TempDir(), FreePort(t)
	run(t, redisConfig(t, ""), "--port", fmt.Sprint(port), "--bind", "127.0.0.1", "--save", "", "--dir", dir,
		"--cluster-enabled", "yes", "--cluster-port", fmt.Sprint(FreePort(t)))
	node := Client(t, &Server{URL: redisURL(port)})
	eventually(t, "a cluster", func(ctx context.Context) bool {
		_ = node.Do(ctx, "CLUSTER", "ADDSLOTSRANGE", 0, 16383).Err() // refused when they are its own already
		return node.Do(ctx, "SET", "probe", 1).Err() == nil
	})
	return redisURL(port) + "?cluster=true"
}

// A Cluster is a Redis Cluster of three nodes behind a Wire, each with a third of the slots.
type Cluster struct {
	URL  string
	Wire *Wire

	nodes []*node
}

// A node is one node of a Cluster. The client bare speaks to this node alone, not through the Wire.
type node struct {
	id       string
	announce int // the port of the Wire
	bare     redis.UniversalClient
}

// StartShards starts a Cluster. Its nodes announce the ports of the Wire, so that redirections go through it too.
func StartShards(t testing.TB) *Cluster {
	t.Helper()
	Require(t)
	c := &Cluster{Wire: NewWire(t)}
	var buses []int
	for i := range 3 {
		port, bus := FreePort(t), FreePort(t)
		n := &node{announce: c.Wire.To(t, port)}
		run(t, redisConfig(t, ""), "--port", fmt.Sprint(port), "--bind", "127.0.0.1", "--save", "", "--dir", t.TempDir(),
			"--cluster-enabled", "yes", "--cluster-port", fmt.Sprint(bus), "--cluster-announce-ip", "127.0.0.1",
			"--cluster-announce-port", fmt.Sprint(n.announce), "--cluster-announce-bus-port", fmt.Sprint(bus))
		n.bare = Client(t, &Server{URL: redisURL(port)})
		eventually(t, "a node", func(ctx context.Context) bool {
			var err error
			n.id, err = n.bare.Do(ctx, "CLUSTER", "MYID").Text()
			return err == nil
		})
		do(t, n.bare, "CLUSTER", "ADDSLOTSRANGE", i*5461, []int{5460, 10921, 16383}[i])
		do(t, n.bare, "CLUSTER", "SET-CONFIG-EPOCH", i+1)
		for j, other := range c.nodes {
			addr := other.bare.(*redis.Client).Options().Addr
			do(t, n.bare, "CLUSTER", "MEET", "127.0.0.1", portOf("redis://"+addr), buses[j])
		}
		buses, c.nodes = append(buses, bus), append(c.nodes, n)
	}
	eventually(t, "a cluster", func(ctx context.Context) bool {
		ok := func(n *node) bool { return strings.Contains(n.bare.ClusterInfo(ctx).Val(), "cluster_state:ok") }
		return c.agreed(ctx) && !slices.ContainsFunc(c.nodes, func(n *node) bool { return !ok(n) })
	})
	c.URL = redisURL(c.nodes[0].announce) + "?cluster=true"
	return c
}

// Move begins to move the slot of a key to another node: its keys are moved, and the old node answers ASK. The returned
// function finishes the move: from then on the old node answers MOVED.
func (c *Cluster) Move(t testing.TB, key string) (finish func()) {
	t.Helper()
	ctx := context.Background()
	slot := c.nodes[0].bare.ClusterKeySlot(ctx, key).Val()
	var from, to *node
	for _, n := range c.nodes {
		if err := n.bare.Get(ctx, key).Err(); err == nil || !strings.HasPrefix(err.Error(), "MOVED") {
			from = n
		} else {
			to = n
		}
	}
	do(t, to.bare, "CLUSTER", "SETSLOT", slot, "IMPORTING", from.id)
	do(t, from.bare, "CLUSTER", "SETSLOT", slot, "MIGRATING", to.id)
	host, port, _ := strings.Cut(to.bare.(*redis.Client).Options().Addr, ":")
	for _, name := range from.bare.ClusterGetKeysInSlot(ctx, int(slot), 1000).Val() {
		do(t, from.bare, "MIGRATE", host, port, name, 0, 5000, "AUTH", password)
	}
	return func() {
		do(t, to.bare, "CLUSTER", "SETSLOT", slot, "NODE", to.id)
		do(t, from.bare, "CLUSTER", "SETSLOT", slot, "NODE", to.id)
		for _, n := range c.nodes {
			do(t, n.bare, "CLUSTER", "SETSLOT", slot, "NODE", to.id)
		}
		eventually(t, "agreement on the slots", c.agreed)
	}
}

// agreed reports whether all nodes have the same view of the cluster. A slot that moves earlier may move back.
func (c *Cluster) agreed(ctx context.Context) bool {
	var first string
	for i, n := range c.nodes {
		var picture []string
		for line := range strings.Lines(n.bare.ClusterNodes(ctx).Val()) {
			fields := strings.Fields(line)
			picture = append(picture, fmt.Sprint(fields[0], fields[6:])) // the epoch, the link and the slots
		}
		slices.Sort(picture)
		all := strings.Join(picture, "\n")
		if i > 0 && all != first || len(picture) != len(c.nodes) || strings.Count(all, " connected") != len(picture) {
			return false
		}
		first = all
	}
	return true
}

// do sends a command and fails the test if it fails.
func do(t testing.TB, c redis.UniversalClient, args ...any) {
	t.Helper()
	if err := c.Do(context.Background(), args...).Err(); err != nil {
		t.Fatal(args, err)
	}
}

// StartSentinel starts a redis-server and a Sentinel that watches it, and returns the URL that asks the Sentinel.
func StartSentinel(t testing.TB) string {
	t.Helper()
	Require(t)
	return startSentinel(t, portOf(StartRedis(t).URL))
}

// StartSentinelBehind is StartSentinel with the redis-server behind a Wire.
func StartSentinelBehind(t testing.TB, w *Wire) string {
	t.Helper()
	Require(t)
	return startSentinel(t, w.To(t, portOf(StartRedis(t).URL)))
}

// StartRedisBehind starts a redis-server behind a Wire, and returns its URL.
func StartRedisBehind(t testing.TB, w *Wire) string {
	t.Helper()
	Require(t)
	return redisURL(w.To(t, portOf(StartRedis(t).URL)))
}

func startSentinel(t testing.TB, primary int) string {
	t.Helper()
	port := FreePort(t)
	run(t, redisConfig(t, fmt.Sprintf("port %d\nbind 127.0.0.1\nsentinel monitor shop 127.0.0.1 %d 1\n"+
		"sentinel auth-pass shop %s", port, primary, password)), "--sentinel")
	sentinel := Client(t, &Server{URL: redisURL(port)})
	eventually(t, "a Sentinel", func(ctx context.Context) bool {
		return sentinel.Do(ctx, "SENTINEL", "get-master-addr-by-name", "shop").Err() == nil
	})
	return redisURL(port) + "?master_name=shop&password=" + password
}

// run starts a redis-server with these arguments. It ends with the test.
func run(t testing.TB, args ...string) {
	t.Helper()
	process := exec.CommandContext(context.Background(), RedisServer, args...)
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = process.Process.Kill()
		_ = process.Wait()
	})
}

// portOf returns the port of a URL.
func portOf(url string) (port int) {
	_, _ = fmt.Sscanf(backend.Address(url), "127.0.0.1:%d", &port)
	return port
}

// eventually waits until there returns true.
func eventually(t testing.TB, what string, there func(ctx context.Context) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for !there(ctx) {
		if ctx.Err() != nil {
			t.Fatal(what + " did not start")
		}
		time.Sleep(20 * time.Millisecond)
	}
}
