package main

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/backend/backendtest"
)

// Two instances sell from one stock, the first with an embedded Redis that the second one joins.
func TestTwoInstancesOnAnEmbeddedRedis(t *testing.T) {
	a := start(t, "--redis", "embedded", "--embedded-addr", "127.0.0.1:0", "--instance", "a")
	var url string
	for _, line := range a.logs.lines {
		if u, ok := line["redis"].(string); ok && strings.HasPrefix(u, "redis://") {
			url = u
		}
	}
	b := start(t, "--redis", url)
	one, two := a.post(t, "/v4/decrease"), b.post(t, "/lua-release/decrease")
	assert.Equal(t, []any{100.0}, one.body["units"])
	assert.Equal(t, []any{99.0}, two.body["units"])
	assert.Equal(t, "a", one.body["instance"])
	assert.Equal(t, b.url[strings.LastIndex(b.url, ":")+1:], two.body["instance"], "its port, by default")
}

func TestRungsSayWhatTheyNeed(t *testing.T) {
	s := backendtest.StartEmbedded(t)
	for _, c := range []struct {
		args []string
		note string
	}{
		{nil, "over 1 node, the lock Redis alone"},
		{[]string{"--redlock", s.URL + "," + backendtest.StartEmbedded(t).URL + "," + backendtest.StartEmbedded(t).URL},
			"over 3 nodes, quorum 2"},
	} {
		r := start(t, append(c.args, "--redis", s.URL)...)
		var v6 map[string]any
		for _, one := range r.do(t, http.MethodGet, "/rungs", nil).body["rungs"].([]any) {
			if rung := one.(map[string]any); rung["number"] == "v6" {
				v6 = rung
			}
		}
		assert.Contains(t, v6["note"], c.note)
		assert.Equal(t, true, v6["available"])
	}
}

// With --lock-redis the locks live on a server of their own.
func TestLocksOnAServerOfTheirOwn(t *testing.T) {
	stock, locks := backendtest.StartEmbedded(t), backendtest.StartEmbedded(t)
	r := start(t, "--redis", stock.URL, "--lock-redis", locks.URL)
	held := backendtest.Client(t, locks)
	require.NoError(t, held.Set(context.Background(), "DistributedLock_10000", "other", 0).Err())
	assert.Equal(t, 423, r.post(t, "/v4/decrease").status)
	assert.Zero(t, backendtest.Client(t, locks).Exists(context.Background(), "ProductStock_10000").Val())
}

// At shutdown /readyz fails first; the order in flight finishes and releases its lock; waiting orders are refused; and
// run returns without an error.
func TestDrain(t *testing.T) {
	backendtest.Long(t)
	t.Parallel()
	s := backendtest.StartEmbedded(t)
	r := start(t, "--redis", s.URL, "--drain-delay", "2s")
	var orders sync.WaitGroup
	orders.Go(func() { assert.Equal(t, 200, r.post(t, "/v4/decrease?work=3s").status) })
	require.Eventually(t, func() bool {
		return backendtest.Client(t, s).Exists(context.Background(), "DistributedLock_10000").Val() == 1
	}, 10*time.Second, 5*time.Millisecond)
	orders.Go(func() { assert.Equal(t, "draining", r.post(t, "/v4/decrease?wait=1m").problem()) })
	time.Sleep(50 * time.Millisecond)
	r.end()
	require.Eventually(t, func() bool { return r.do(t, http.MethodGet, "/readyz", nil).problem() == "draining" },
		2*time.Second, time.Millisecond)
	assert.Equal(t, "draining", r.post(t, "/v4/decrease").problem())
	orders.Wait()
	require.NoError(t, r.wait())
	assert.Zero(t, backendtest.Client(t, s).Exists(context.Background(), "DistributedLock_10000").Val())
	assert.Equal(t, "99", backendtest.Client(t, s).Get(context.Background(), "ProductStock_10000").Val())
}

// With --exit-with-stdin an instance ends with the process that holds the other end.
func TestExitWithStdin(t *testing.T) {
	s := backendtest.StartEmbedded(t)
	stdin, other := io.Pipe()
	done := make(chan error, 1)
	logs := newLogs()
	go func() {
		done <- run(context.Background(), []string{"--addr", "127.0.0.1:0", "--redis", s.URL, "--exit-with-stdin",
			"--log-format", "json"}, stdin, io.Discard, logs)
	}()
	<-logs.ready
	require.NoError(t, other.Close())
	require.NoError(t, <-done)
}

func TestEmbeddedRedisAlone(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	stdout, in := io.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- run(ctx, []string{"redis", "--addr", "127.0.0.1:0"}, strings.NewReader(""), in, io.Discard)
	}()
	line := make([]byte, 64)
	n, err := stdout.Read(line)
	require.NoError(t, err)
	url := strings.TrimSpace(string(line[:n]))
	go func() { _, _ = io.Copy(io.Discard, stdout) }()
	client := backendtest.Client(t, &backendtest.Server{URL: url})
	require.NoError(t, client.Set(context.Background(), "k", "v", 50*time.Millisecond).Err())
	assert.Eventually(t, func() bool { return client.Exists(context.Background(), "k").Val() == 0 }, 10*time.Second,
		5*time.Millisecond, "its TTLs follow the clock")
	cancel()
	require.NoError(t, <-done)
	require.NoError(t, in.Close())
}

// The embedded Redis needs no password: the log warns if other machines can reach it.
func TestAnOpenEmbeddedRedisIsWarnedOf(t *testing.T) {
	for addr, warned := range map[string]bool{"127.0.0.1:0": false, "0.0.0.0:0": true} {
		r := start(t, "--redis", "embedded", "--embedded-addr", addr)
		assert.Equal(t, warned, strings.Contains(r.logs.text(), openRedis), addr)

		ctx, cancel := context.WithCancel(t.Context())
		var errs strings.Builder
		stdout := writer(func(p []byte) (int, error) { cancel(); return len(p), nil })
		require.NoError(t, run(ctx, []string{"redis", "--addr", addr}, nil, stdout, &errs))
		assert.Equal(t, warned, strings.Contains(errs.String(), openRedis), addr)
	}
}

// A writer is a function that writes.
type writer func(p []byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }

func TestReady(t *testing.T) {
	r := start(t, "--redis", backendtest.StartEmbedded(t).URL)
	addr := strings.TrimPrefix(r.url, "http://")
	for _, addr := range []string{addr, strings.TrimPrefix(addr, "127.0.0.1")} { // that of STOCKAPI_ADDR=:5000 for both
		require.NoError(t, run(context.Background(), []string{"ready", "--addr", addr}, nil, io.Discard, io.Discard))
	}
	r.end()
	require.NoError(t, r.wait())
	require.Error(t, run(context.Background(), []string{"ready", "--addr", addr}, nil, io.Discard, io.Discard))
}

func TestMetrics(t *testing.T) {
	r := start(t, "--redis", backendtest.StartEmbedded(t).URL, "--instance", "a", "--stock", "1")
	r.post(t, "/v4/decrease?ttl=100ms&work=120ms")
	r.post(t, "/v5/decrease")
	text := r.do(t, http.MethodGet, "/metrics", nil).text
	for _, line := range []string{
		`stockapi_sales_total{instance_name="a",outcome="sold",rung="v4"} 1`,
		`stockapi_sales_total{instance_name="a",outcome="sold-out",rung="v5"} 1`,
		`stockapi_lock_wait_seconds_count{instance_name="a",rung="v4"} 1`,
		`stockapi_lock_hold_seconds_count{instance_name="a",rung="v5"} 1`,
		`stockapi_leases_held{instance_name="a",rung="v4"} 0`,
		`stockapi_leases_lost_total{instance_name="a",rung="v4"} 1`,
		`stockapi_redis_commands_total{instance_name="a"} `,
	} {
		assert.Contains(t, text, line)
	}
}

// The stock and the locks can live behind a Sentinel or in a Cluster. There, what one script touches shares a slot.
func TestSentinelAndCluster(t *testing.T) {
	backendtest.Long(t)
	for name, url := range map[string]func(testing.TB) string{
		"sentinel": backendtest.StartSentinel, "cluster": backendtest.StartCluster,
	} {
		t.Run(name, func(t *testing.T) {
			r := start(t, "--redis", url(t), "--stock", "100")
			sold := 0
			for _, one := range r.do(t, http.MethodGet, "/rungs", nil).body["rungs"].([]any) {
				if !one.(map[string]any)["available"].(bool) {
					continue // it needs more than Redis
				}
				number := one.(map[string]any)["number"].(string)
				a := r.post(t, "/"+number+"/decrease?wait=5s")
				assert.Equal(t, http.StatusOK, a.status, "%s: %s", number, a.text)
				sold++
			}
			left := r.do(t, http.MethodGet, "/stock/10000", nil).body["quantity"]
			assert.EqualValues(t, 100-sold, left)
			assert.Equal(t, http.StatusOK, r.do(t, http.MethodDelete, "/locks/10000", nil).status)
			assert.Equal(t, http.StatusNoContent, r.do(t, http.MethodDelete, "/stock/10000", nil).status)
		})
	}
}

func TestNoEmptyAddress(t *testing.T) {
	for _, args := range [][]string{{"--addr="}, {"--redis=embedded", "--embedded-addr="}, {"redis", "--addr="}} {
		err := run(t.Context(), args, strings.NewReader(""), io.Discard, io.Discard)
		require.ErrorIs(t, err, errUsage, args)
	}
}
