package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/bench/figures"
	"stockapi/bench/report"
	"stockapi/internal/backend"
)

// TestMain lets the test binary be the worker and the keeper processes that the program starts.
func TestMain(m *testing.M) {
	backend.Silence()
	if len(os.Args) > 1 && (os.Args[1] == "worker" || os.Args[1] == "keeper") {
		os.Exit(execute(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// runBench runs the program, and returns its exit code and what it printed.
func runBench(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = execute(t.Context(), args, nil, &out, &errs)
	return code, out.String(), errs.String()
}

// startEmbedded starts an embedded Redis, and returns its URL and the number of its keys.
func startEmbedded(t *testing.T) (url string, keys func() int64) {
	t.Helper()
	server, err := backend.StartEmbedded("127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(server.Close)
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr()})
	t.Cleanup(func() { _ = rdb.Close() })
	return server.URL(), func() int64 { return rdb.DBSize(context.Background()).Val() }
}

func TestTwoProcessesSideBySide(t *testing.T) {
	url, keys := startEmbedded(t)
	dir := t.TempDir()
	jsonFile, htmlFile := filepath.Join(dir, "bench.json"), filepath.Join(dir, "bench.html")
	code, stdout, stderr := runBench(t, "--redis", url, "--contenders", "v4,redsync,mutex", "--processes", "2",
		"--waiters", "4,1", "--rounds", "1", "--for", "100ms", "--json", jsonFile, "--html", htmlFile)
	require.Equal(t, measured, code, stderr)
	assert.Contains(t, stdout, "hot, 2 × 4")
	assert.Contains(t, stderr, "8 measurements") // v4 and redsync at three points, mutex at the two hot ones

	var r report.Report
	text, err := os.ReadFile(jsonFile)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &r))
	require.Len(t, r.Tables, 3)
	hot := r.Tables[1]
	assert.Equal(t, "redsync", hot.BestPeer[figures.Rate])
	for _, row := range hot.Rows {
		assert.Positive(t, row.Figures[figures.Rate].Median, row.Contender)
		assert.Empty(t, row.Broken(), row.Contender)
		failed, why := row.Failed()
		assert.Zero(t, failed, why)
	}
	page, err := os.ReadFile(htmlFile)
	require.NoError(t, err)
	assert.Contains(t, string(page), "<svg")
	assert.Zero(t, keys(), "nothing is left")
}

func TestALockThatLetsTwoInIsReported(t *testing.T) {
	url, _ := startEmbedded(t)
	code, stdout, _ := runBench(t, "--redis", url, "--contenders", "v0", "--workloads", "hot", "--processes", "2",
		"--waiters", "4", "--rounds", "1", "--for", "100ms")
	assert.Equal(t, broken, code)
	assert.Contains(t, stdout, "v0 is BROKEN at hot, 2 × 4: ")
	assert.Contains(t, stdout, "sold a unit that was sold already")
}

func TestItStartsARedisOfItsOwn(t *testing.T) {
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Skip("needs redis-server")
	}
	code, stdout, stderr := runBench(t, "--contenders", "v8,rueidislock", "--workloads", "hot", "--processes", "2",
		"--waiters", "4", "--rounds", "1", "--for", "100ms")
	assert.Equal(t, measured, code, stderr)
	assert.Contains(t, stdout, "commands/sale")
}

func TestItCannotRun(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "install it (apt-get install redis-server), or name a Redis"},
		{[]string{"--contenders", "v99"}, `there is no contender "v99"`},
		{[]string{"--workloads", "warm"}, `there is no workload "warm"`},
		{[]string{"--waiters", "8,8"}, "each number once"},
		{[]string{"--rounds", "0"}, "--rounds is at least 1"},
		{[]string{"--redis", "redis://127.0.0.1:1"}, "--redis: ping: "},
	} {
		code, _, stderr := runBench(t, c.args...)
		assert.Equal(t, couldNotRun, code, c.args)
		assert.Contains(t, stderr, c.want, c.args)
	}
}

func TestAnInterruptionLeavesNothing(t *testing.T) {
	url, keys := startEmbedded(t)
	ctx, cancel := context.WithCancel(t.Context())
	var out, errs bytes.Buffer
	stderr := writer(func(b []byte) (int, error) {
		if bytes.Contains(b, []byte("1 of ")) { // the first measurement is over
			cancel()
		}
		return errs.Write(b)
	})
	code := execute(ctx, []string{"--redis", url, "--contenders", "v4", "--workloads", "hot", "--processes", "2",
		"--waiters", "4", "--rounds", "9", "--for", "100ms"}, nil, &out, stderr)
	assert.Equal(t, couldNotRun, code)
	assert.Contains(t, errs.String(), "interrupted after 1 of 9 measurements")
	assert.Contains(t, out.String(), "hot, 2 × 4", "what was measured by then")
	assert.Zero(t, keys())
}

type writer func(b []byte) (int, error)

func (w writer) Write(b []byte) (int, error) { return w(b) }
