package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/backend"
)

// TestMain lets the test binary be the worker and the keeper processes that the program starts.
func TestMain(m *testing.M) {
	backend.Silence()
	if len(os.Args) > 1 && (os.Args[1] == "worker" || os.Args[1] == "guardian") {
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
	code, stdout, stderr := runBench(t, "--redis", url, "--contenders", "v4,redsync,mutex", "--processes", "2",
		"--waiters", "4,1", "--rounds", "1", "--for", "100ms", "--out", dir)
	require.Equal(t, measured, code, stderr)
	assert.Contains(t, stdout, "4 waiters in each of 2 processes:")
	assert.Regexp(t, `(?m)^\| redsync +\| [1-9][0-9,]+ · 1.00× +\| [0-9,.]+ · 1.00× `, stdout)
	assert.NotContains(t, stdout, "failed")
	assert.Contains(t, stderr, "8 measurements") // v4 and redsync at three points, mutex at the two hot ones
	text, err := os.ReadFile(filepath.Join(dir, "bench.csv"))
	require.NoError(t, err)
	assert.Equal(t, 1+8, strings.Count(string(text), "\n"))
	assert.FileExists(t, filepath.Join(dir, "sales.svg"))
	assert.Zero(t, keys(), "nothing is left")
}

func TestALockThatLetsTwoInIsReported(t *testing.T) {
	url, _ := startEmbedded(t)
	code, stdout, _ := runBench(t, "--redis", url, "--contenders", "v0", "--processes", "2", "--waiters", "4",
		"--rounds", "1", "--for", "100ms")
	assert.Equal(t, broken, code)
	assert.Contains(t, stdout, "v0 is BROKEN with 4 waiters in each of 2 processes: ")
	assert.Contains(t, stdout, "sold a unit that was sold already")
}

func TestItStartsARedisOfItsOwn(t *testing.T) {
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Skip("needs redis-server")
	}
	code, stdout, stderr := runBench(t, "--contenders", "v8,rueidislock", "--processes", "2", "--waiters", "4",
		"--rounds", "1", "--for", "100ms")
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
		{[]string{"--waiters", "8,8"}, "each number once"},
		{[]string{"--rounds", "0"}, "--rounds is at least 1"},
		{[]string{"--redis", "redis://127.0.0.1:1"}, "no Redis at redis://127.0.0.1:1"},
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
		if bytes.Contains(b, []byte("2 of ")) { // the first hot measurement is over
			cancel()
		}
		return errs.Write(b)
	})
	code := execute(ctx, []string{"--redis", url, "--contenders", "v4", "--processes", "2", "--waiters", "4",
		"--rounds", "9", "--for", "100ms"}, nil, &out, stderr)
	assert.Equal(t, couldNotRun, code)
	assert.Contains(t, errs.String(), "ended after 2 of 18 measurements: ")
	assert.Contains(t, out.String(), "4 waiters in each of 2 processes", "what was measured by then")
	assert.Zero(t, keys())
}

type writer func(b []byte) (int, error)

func (w writer) Write(b []byte) (int, error) { return w(b) }
