package main

import (
	"bufio"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/backend"
	"stockapi/internal/backend/backendtest"
)

const canary = "hunter2"

// A password shows up nowhere, wherever in its URL it stands: not in the log, nor in anything that can be asked for.
func TestNoPasswordGetsOut(t *testing.T) {
	e, err := backend.StartEmbedded("127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(e.Close)
	e.Server().RequireAuth(canary)
	redis := "redis://:" + canary + "@" + e.Addr()
	for _, dsn := range []string{
		"postgres://127.0.0.1:1/shop?user=u&password=" + canary,
		"postgres://u:" + canary + "@127.0.0.1:1/shop?sslmode=disable&passfile=" + canary,
		"mysql://u:" + canary + "@127.0.0.1:1/shop",
		"sqlite:///dev/null/locks.db?_pragma=key=" + canary,
	} {
		r := start(t, "--redis", redis, "--lock-redis", redis, "--redlock", redis, "--sql", dsn, "--admin-token", canary)
		said := []string{r.post(t, "/v4/decrease?trace=true").text, r.post(t, "/v12/decrease?trace=true").text}
		for _, path := range []string{"/rungs", "/docs", "/metrics", "/readyz", "/faults"} {
			said = append(said, r.do(t, "GET", path, nil).text)
		}
		r.end()
		require.NoError(t, r.wait())
		assert.NotContains(t, strings.Join(append(said, r.logs.text()), "\n"), canary, dsn)
	}
}

// What keeps an instance from starting is said in one line, which names the flag and shows no value of it.
func TestNoPasswordInAnErrorAtTheStart(t *testing.T) {
	s := backendtest.StartEmbedded(t)
	for flag, urls := range map[string][]string{
		"--redis": {":" + canary + "@127.0.0.1:6379", "redis://:" + canary + "#@127.0.0.1:6379",
			"redis://127.0.0.1?password=" + canary,
			"redis://127.0.0.1:1/0?" + canary, "redis://:12/" + canary + "@127.0.0.1", "redis://:%zz" + canary + "@127.0.0.1"},
		"--sql": {"u:" + canary + "@tcp(127.0.0.1:3306)/shop", "host=127.0.0.1 user=u password=" + canary,
			"oracle://u:" + canary + "@h/db",
			"postgres://u:" + canary + "/x@127.0.0.1/shop", "postgres://127.0.0.1/shop?password=" + canary + "&sslmode=rain",
			"postgres://127.0.0.1/shop?sslmode=require&sslpassword=" + canary + "&sslkey=/nowhere&sslcert=/nowhere",
			"mysql://127.0.0.1/shop?user=u&password=" + canary, "mysql://127.0.0.1/shop?timeout=" + canary},
		"--zookeeper": {"digest:u:" + canary + "@127.0.0.1:2181", canary + "@127.0.0.1:2181", "127.0.0.1:2181/" + canary},
		"--ttl":       {"redis://:" + canary + "@127.0.0.1"},
	} {
		for _, url := range urls {
			args := []string{"--addr", "127.0.0.1:0", "--redis", s.URL, flag, url}
			err := run(context.Background(), args, strings.NewReader(""), io.Discard, io.Discard)
			require.ErrorContains(t, err, flag, url)
			assert.NotContains(t, err.Error(), canary)
			assert.NotContains(t, err.Error(), "\n", "one line")
		}
	}
	for _, args := range [][]string{{"redis://:" + canary + "@h"}, {"--admin-token=", canary},
		{"--sqll", "postgres://u:" + canary + "@h/db"}} {
		err := run(context.Background(), args, strings.NewReader(""), io.Discard, io.Discard)
		require.ErrorIs(t, err, errUsage)
		assert.NotContains(t, err.Error(), canary)
	}
	t.Setenv("STOCKAPI_WAIT", "postgres://u:"+canary+"@h/db")
	err := run(context.Background(), nil, strings.NewReader(""), io.Discard, io.Discard)
	require.ErrorContains(t, err, "--wait")
	assert.NotContains(t, err.Error(), canary)
}

func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// What may hold a password can stand in a file, and the end of its line is none of it.
func TestSecretsFromFiles(t *testing.T) {
	s, locks, third := backendtest.StartEmbedded(t), backendtest.StartEmbedded(t), backendtest.StartEmbedded(t)
	t.Setenv("STOCKAPI_LOCK_REDIS_FILE", file(t, locks.URL+"\r\n"))
	r := start(t, "--redis-file", file(t, s.URL+"\n"), "--redlock-file", file(t, s.URL+"\n"+locks.URL+", "+third.URL+"\n"),
		"--sql", "", "--sql-file", file(t, "none\n"), "--admin-token-file", file(t, "secret-token\n"))
	assert.Equal(t, "rung-unavailable", r.post(t, "/v12/decrease").problem())
	assert.Contains(t, r.do(t, "GET", "/rungs", nil).text, "over 3 nodes, quorum 2")
	require.NoError(t, backendtest.Client(t, locks).Set(context.Background(), "DistributedLock_10000", "other", 0).Err())
	assert.Equal(t, 423, r.post(t, "/v4/decrease").status, "the locks are where the file says")
	assert.Equal(t, 401, r.do(t, "DELETE", "/locks/10000", nil).status)
}

// The embedded Redis that runs alone obeys nobody without the password in the file, which its output does not show.
func TestSecretOfTheEmbeddedRedis(t *testing.T) {
	out, in := io.Pipe()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- run(ctx, []string{"redis", "--addr", "127.0.0.1:0", "--password-file", file(t, "secret\n")},
			strings.NewReader(""), in, io.Discard)
	}()
	url, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	url = strings.TrimSpace(url)
	assert.NotContains(t, url, "secret")
	require.ErrorContains(t, backendtest.Client(t, &backendtest.Server{URL: url}).Ping(ctx).Err(), "NOAUTH")
	url = strings.Replace(url, "redis://", "redis://:secret@", 1)
	require.NoError(t, backendtest.Client(t, &backendtest.Server{URL: url}).Ping(ctx).Err())
	stop()
	require.NoError(t, <-ended)
}

func TestSecretsFromFilesThatAreNone(t *testing.T) {
	for says, args := range map[string][]string{
		"--sql-file: open":              {"--sql-file", filepath.Join(t.TempDir(), "none")},
		"--redis-file: read":            {"--redis-file", t.TempDir()},
		"is empty":                      {"--admin-token-file", file(t, "\n")},
		"--sql and --sql-file are both": {"--sql", "none", "--sql-file", file(t, "none")},
		"--redis and --redis-file":      {"--redis", "redis://127.0.0.1:6379", "--redis-file", file(t, "embedded")},
		"--redlock and --redlock-file":  {"--redlock", "redis://127.0.0.1:6379", "--redlock-file", file(t, "embedded")},
		"--password-file: open":         {"redis", "--password-file", filepath.Join(t.TempDir(), "none")},
		"has to fit into a header":      {"--admin-token-file", file(t, "two\nlines\n")},
		"no longer than":                {"--admin-token-file", file(t, strings.Repeat("a", maxToken+1))},
		"is larger than 64 KiB":         {"--admin-token-file", file(t, strings.Repeat("a", maxSecret+1))},
		"--sql-file":                    {"--sql-file", file(t, "sqlite:"+strings.Repeat("a", maxSecret))},
	} {
		err := run(context.Background(), args, strings.NewReader(""), io.Discard, io.Discard)
		require.ErrorContains(t, err, says)
		assert.NotContains(t, err.Error(), "\n", "one line")
	}
}
