package main

import (
	"bufio"
	"context"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/backend"
	"stockapi/internal/backend/backendtest"
)

const canary = "hunter2"

// No password is in the log, or in any answer.
func TestNoPasswordGetsOut(t *testing.T) {
	e, err := backend.StartEmbedded("127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(e.Close)
	e.Server().RequireAuth(canary)
	redis := "redis://:" + canary + "@" + e.Addr()
	for _, dsn := range []string{
		"postgres://u:" + canary + "@127.0.0.1:1/shop?sslmode=disable&passfile=" + canary,
		"sqlite:///dev/null/locks.db?_pragma=key=" + canary,
	} {
		r := start(t, "--redis", redis, "--lock-redis", redis, "--redlock", redis, "--sql", dsn, "--admin-token", canary)
		said := []string{r.post(t, "/v4/decrease?trace=true").text, r.post(t, "/v12/decrease?trace=true").text}
		for _, path := range []string{"/rungs", "/docs", "/metrics", "/readyz", "/faults"} {
			said = append(said, r.do(t, "GET", path, nil).text)
		}
		assert.Equal(t, 401, r.do(t, "DELETE", "/locks/10000", nil).status)
		r.end()
		require.NoError(t, r.wait())
		assert.NotContains(t, strings.Join(append(said, r.logs.text()), "\n"), canary, dsn)
	}
}

// An error about the command line or the environment quotes no value that may be a password.
func TestNoPasswordInAnErrorOfTheCommandLine(t *testing.T) {
	url := "redis://:" + canary + "@127.0.0.1"
	for _, args := range [][]string{{"--ttl", url}, {url}, {"--admin-token=", canary}, {"--sqll", url}} {
		err := run(t.Context(), args, strings.NewReader(""), io.Discard, io.Discard)
		require.ErrorIs(t, err, errUsage)
		assert.NotContains(t, err.Error(), canary)
	}
	t.Setenv("STOCKAPI_WAIT", url)
	err := run(t.Context(), nil, strings.NewReader(""), io.Discard, io.Discard)
	require.ErrorContains(t, err, "--wait")
	assert.NotContains(t, err.Error(), canary)
}

// The embedded Redis that runs alone requires its password, which its output does not show.
func TestSecretOfTheEmbeddedRedis(t *testing.T) {
	out, in := io.Pipe()
	t.Setenv("STOCKAPI_PASSWORD", "secret")
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- run(ctx, []string{"redis", "--addr", "127.0.0.1:0"}, strings.NewReader(""), in, io.Discard)
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
