package main

import (
	"context"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/backend/backendtest"
)

// A server that --redlock names twice is refused with a remedy, however it is spelt.
func TestRedlockOnOneServerTwice(t *testing.T) {
	backendtest.Each(t, func(t *testing.T, startServer func(testing.TB) *backendtest.Server) {
		one, two := startServer(t).URL, startServer(t).URL
		port := one[strings.LastIndex(one, ":")+1:]
		for _, again := range []string{one, one + "/", one + "/0", one + "/1", one + "?db=2", "redis://localhost:" + port,
			"redis://LOCALHOST:" + port + "/0"} {
			code, text := exits(t, "--redis", two, "--redlock", strings.Join([]string{one, two, again}, ","))
			assert.Equal(t, 2, code, again)
			assert.Contains(t, text,
				"--redlock names one server twice, as node 1 ("+hostPort(one)+") and node 3 ("+hostPort(again)+")")
			assert.Contains(t, text, "name servers that are independent of each other")
		}
	})
}

// exits runs an instance that is not to start, and returns its exit code and what it says.
func exits(t *testing.T, args ...string) (code int, text string) {
	t.Helper()
	var said strings.Builder
	args = append([]string{"--addr", "127.0.0.1:0", "--sql", "none"}, args...)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second) // one that does start ends by itself
	defer cancel()
	code = exitCode(&said, run(ctx, args, strings.NewReader(""), io.Discard, io.Discard))
	return code, said.String()
}

func hostPort(url string) string {
	host, _, _ := strings.Cut(strings.TrimPrefix(url, "redis://"), "?")
	host, _, _ = strings.Cut(host, "/")
	return host
}

// One server behind two addresses says itself that it is one, whichever of its databases is used.
func TestRedlockOnOneServerBehindTwoAddresses(t *testing.T) {
	backendtest.Require(t)
	server := backendtest.StartRedis(t)
	other := wire(t, strings.TrimPrefix(server.URL, "redis://"), func([]byte) bool { return false })
	code, text := exits(t, "--redis", server.URL, "--redlock", server.URL+",redis://"+other+"/1")
	assert.Equal(t, 2, code)
	assert.Contains(t, text, "one server twice")
}

// The embedded Redis has no run ID. It is recognised by a key that both addresses share, and that does not stay.
func TestRedlockOnOneServerWithoutRunID(t *testing.T) {
	server := backendtest.StartEmbedded(t)
	other := wire(t, strings.TrimPrefix(server.URL, "redis://"), func([]byte) bool { return false })
	code, text := exits(t, "--redis", server.URL, "--redlock", server.URL+",redis://"+other)
	assert.Equal(t, 2, code)
	assert.Contains(t, text, "one server twice")
	assert.Empty(t, backendtest.Client(t, server).Keys(t.Context(), "*").Val())
}

// A node that is away, or says nothing, is no reason not to start: Redlock is there to do without it.
func TestRedlockWithANodeAway(t *testing.T) {
	server := backendtest.StartEmbedded(t)
	mute := wire(t, strings.TrimPrefix(server.URL, "redis://"), func([]byte) bool { return true })
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	away := l.Addr().String()
	require.NoError(t, l.Close())
	r := start(t, "--redis", server.URL, "--redlock",
		strings.Join([]string{server.URL, backendtest.StartEmbedded(t).URL, backendtest.StartEmbedded(t).URL,
			"redis://" + mute, "redis://" + away, "redis://no-such-host.invalid"}, ","))
	assert.Equal(t, 200, r.post(t, "/v4/decrease").status)
}
