package wire

import (
	"context"
	"net"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/backend/backendtest"
	"stockapi/loadtest/history"
	"stockapi/loadtest/schedule"
)

// Unmodified clients in several languages sell a unit under their own lock over a wire. The wire holds the stock's
// write for two seconds and until the lock has been renewed, and loses a reply.
func TestForeignClients(t *testing.T) {
	backendtest.Long(t)
	backendtest.Require(t)
	for _, one := range []struct {
		name string
		sell func(t *testing.T, url string)
	}{
		{"go-redis RESP2", func(t *testing.T, url string) { sellByGoRedis(t, url, 2) }},
		{"go-redis RESP3", func(t *testing.T, url string) { sellByGoRedis(t, url, 3) }},
		{"redis-py RESP2", runPython("", "2")},
		{"redis-py RESP3", runPython(`assert int(redis.__version__.split(".")[0]) >= 5`, "3")},
		{"ioredis", runNode("ioredis", "2")},
		{"node-redis RESP2", runNode("redis", "2")},
		{"node-redis RESP3", runNode("redis", "3")},
	} {
		t.Run(one.name, func(t *testing.T) {
			t.Parallel()
			b := newClientBench(t, one.name)
			end := b.schedule()
			one.sell(t, b.url)
			end()
			b.check(t)
		})
	}
}

// redis-benchmark sends pipelines, and its first test sends inline commands.
func TestRedisBenchmark(t *testing.T) {
	backendtest.Long(t)
	backendtest.Require(t)
	b := newClientBench(t, "redis-benchmark")
	b.gate.Look = nil
	// The password shows on the command line.
	require.NoError(t, b.direct.Do(t.Context(), "ACL", "SETUSER", "limited", "on", ">seen", "~*", "+@read", "+@write",
		"+@connection").Err())
	host, port, err := net.SplitHostPort(b.Host())
	require.NoError(t, err)
	out, err := exec.CommandContext(t.Context(), "redis-benchmark", "-h", host, "-p", port, "--user", "limited",
		"-a", "seen", "-P", "16", "-n", "1600", "-q", "-t", "ping,set,get,incr,lpush,lpop,mset,lrange_600").CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.NotContains(t, strings.ToLower(string(out)), "err")
	for _, name := range []string{"PING_INLINE", "PING_MBULK", "SET", "LPOP", "LRANGE_600", "MSET"} {
		assert.Regexp(t, name+".*: [0-9.]+ requests per second", string(out))
	}
	assert.Empty(t, b.Refused())
}

// A clientBench has one client of a server, over a wire with a looker.
type clientBench struct {
	*Wire
	direct *redis.Client
	looker *Looker
	url    string // of the wire
}

func newClientBench(t *testing.T, name string) *clientBench {
	t.Helper()
	server := backendtest.StartRedis(t)
	direct, ok := backendtest.Client(t, server).(*redis.Client)
	require.True(t, ok)
	require.NoError(t, direct.Set(t.Context(), "stock", "10", 0).Err())
	b := &clientBench{direct: direct}
	ledger, err := NewLedger(t.Context(), direct, Shelf{Key: "stock"})
	require.NoError(t, err)
	t.Cleanup(ledger.Close)
	lock := Lock{Key: Key{Name: "lock"}, Parts: []string{""}, Rest: KeyState{Kind: "none"}}
	b.looker = NewLooker(ledger, []Lock{lock})
	gate := NewGate(nil)
	gate.Look = b.looker.Around
	b.Wire, err = New(gate, &schedule.Client{Name: name}, &schedule.Server{Name: "stock", Host: direct.Options().Addr}, 0)
	require.NoError(t, err)
	t.Cleanup(b.Close)
	u, err := url.Parse(server.URL)
	require.NoError(t, err)
	u.Host = b.Host()
	b.url = u.String()
	return b
}

// schedule decides about the client's commands until end is called.
func (b *clientBench) schedule() (end func()) {
	b.gate.Close()
	stop, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		for lost := false; !IsClosed(stop); time.Sleep(time.Millisecond) {
			for _, cmd := range b.gate.Of(b.sender) {
				switch {
				case cmd.Name == "set" && cmd.On() == "stock" && !b.hasBeenHeld(cmd):
				case strings.HasPrefix(cmd.Name, "incr") && cmd.On() == "lost" && !lost:
					lost = true
					b.gate.Decide(cmd, schedule.LostReply)
				default:
					b.gate.Decide(cmd, schedule.Pass)
				}
			}
		}
	}()
	return sync.OnceFunc(func() {
		close(stop)
		<-over
	})
}

// hasBeenHeld reports whether a write has been held for two seconds, with a renewal of the lock meanwhile.
func (b *clientBench) hasBeenHeld(write *Command) bool {
	return time.Since(write.Came) > 2*time.Second && slices.ContainsFunc(b.gate.LogOf(b.sender), func(cmd *Command) bool {
		return cmd.Sent.After(write.Came) && b.did(cmd, history.EffectRenewed)
	})
}

func (b *clientBench) did(cmd *Command, effect history.Effect) bool {
	return slices.ContainsFunc(b.looker.Traced(cmd), func(c history.Command) bool { return c.Effect == effect })
}

// check checks the record of the client's commands.
func (b *clientBench) check(t *testing.T) {
	t.Helper()
	b.Close()
	require.NoError(t, b.looker.Err())
	assert.Empty(t, b.Refused())
	assert.Equal(t, "9", b.direct.Get(t.Context(), "stock").Val())
	effects := map[keyEffect]bool{}
	numbers, held, lost := 0, 0, 0
	for _, cmd := range b.gate.LogOf(b.sender) {
		for _, c := range b.looker.Traced(cmd) {
			effects[on(c.Key, c.Effect)] = true
		}
		assert.Same(t, b.sender, cmd.Client)
		assert.False(t, cmd.Came.IsZero() || cmd.Sent.Before(cmd.Came) || cmd.Answered.Before(cmd.Sent), "%+v", cmd.Seen)
		switch {
		case cmd.Decision == schedule.LostReply:
			lost++
			assert.Equal(t, "1", cmd.Reply)
			assert.Zero(t, cmd.Delivered)
			continue
		case strings.HasPrefix(cmd.Name, "incr") && cmd.On() == "n":
			numbers++
		case cmd.Name == "set" && cmd.On() == "stock":
			held++
			assert.GreaterOrEqual(t, cmd.Sent.Sub(cmd.Came), 2*time.Second)
			assert.True(t, b.did(cmd, history.EffectWrote))
		}
		assert.False(t, cmd.Delivered.Before(cmd.Answered), "%+v", cmd.Seen)
	}
	for _, effect := range []keyEffect{
		on("lock", history.EffectAcquired), on("lock", history.EffectTried), on("lock", history.EffectRenewed),
		on("lock", history.EffectReleased), on("stock", history.EffectRead), on("stock", history.EffectWrote),
	} {
		assert.Contains(t, effects, effect)
	}
	assert.GreaterOrEqual(t, numbers, 16, "each command of a pipeline is recorded")
	assert.Equal(t, 1, held)
	assert.Equal(t, 1, lost)
}

func runPython(condition, protocol string) func(*testing.T, string) {
	return func(t *testing.T, url string) {
		for _, python := range []string{"python3", "/usr/bin/python3"} { // Debian's has Debian's packages
			if exec.CommandContext(t.Context(), python, "-c", "import redis\n"+condition).Run() == nil {
				run(t, python, "testdata/client.py", url, protocol)
				return
			}
		}
		if condition == "" && slices.Contains(strings.Split(os.Getenv("STOCKAPI_REQUIRE"), ","), "python3-redis") {
			t.Fatal("no redis-py, and STOCKAPI_REQUIRE names python3-redis")
		}
		t.Skip("needs redis-py: apt-get install python3-redis, or pip install redis for RESP3")
	}
}

func runNode(library, protocol string) func(*testing.T, string) {
	return func(t *testing.T, url string) {
		if exec.CommandContext(t.Context(), "node", "-e", "require('"+library+"')").Run() != nil {
			t.Skipf("needs node with %s: npm install %s, and NODE_PATH", library, library)
		}
		run(t, "node", "testdata/client.js", library, url, protocol)
	}
}

func run(t *testing.T, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, args[0], args[1:]...).CombinedOutput()
	require.NoError(t, err, "%s", out)
}

var (
	renewScript = redis.NewScript(
		"if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('pexpire', KEYS[1], 60000) end return 0")
	releaseScript = redis.NewScript(
		"if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0")
)

func sellByGoRedis(t *testing.T, url string, protocol int) {
	o, err := redis.ParseURL(url)
	require.NoError(t, err)
	o.Protocol = protocol
	o.ReadTimeout = time.Minute
	rdb := redis.NewClient(o)
	defer rdb.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	acquire := func(token string) bool { return rdb.SetNX(ctx, "lock", token, time.Minute).Val() }
	lock := []string{"lock"}

	assert.True(t, acquire("one"))
	assert.False(t, acquire("two"))
	written := make(chan struct{})
	var both sync.WaitGroup
	both.Go(func() {
		for !acquire("two") && ctx.Err() == nil {
			time.Sleep(50 * time.Millisecond)
		}
		assert.NoError(t, releaseScript.Run(ctx, rdb, lock, "two").Err())
	})
	both.Go(func() {
		for !IsClosed(written) {
			assert.Equal(t, int64(1), renewScript.Run(ctx, rdb, lock, "one").Val())
			time.Sleep(100 * time.Millisecond)
		}
		assert.NoError(t, releaseScript.Run(ctx, rdb, lock, "one").Err())
	})
	units, err := rdb.Get(ctx, "stock").Int()
	assert.NoError(t, err)
	assert.NoError(t, rdb.Set(ctx, "stock", units-1, 0).Err())
	close(written)
	both.Wait()

	time.AfterFunc(100*time.Millisecond, func() { rdb.LPush(ctx, "queue", "x") })
	assert.Equal(t, []string{"queue", "x"}, rdb.BLPop(ctx, 30*time.Second, "queue").Val())
	all, err := rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		for range 16 {
			p.Incr(ctx, "n")
		}
		return nil
	})
	assert.NoError(t, err)
	for i, one := range all {
		assert.Equal(t, int64(i+1), one.(*redis.IntCmd).Val())
	}
	assert.NoError(t, rdb.Watch(ctx, func(tx *redis.Tx) error {
		_, err := tx.TxPipelined(ctx, func(p redis.Pipeliner) error { return p.Set(ctx, "n", "17", 0).Err() })
		return err
	}, "n"))
	subscription := rdb.Subscribe(ctx, "one")
	defer subscription.Close()
	_, err = subscription.Receive(ctx)
	assert.NoError(t, err)
	assert.NoError(t, rdb.Publish(ctx, "one", "x").Err())
	message, err := subscription.ReceiveMessage(ctx)
	if assert.NoError(t, err) {
		assert.Equal(t, "x", message.Payload)
	}
	_ = rdb.Incr(ctx, "lost").Err() // the client may retry
	assert.NotEmpty(t, rdb.Get(ctx, "lost").Val())
}
