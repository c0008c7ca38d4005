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

	"stockapi/internal/backend"
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
				"--redlock names one server twice, as node 1 ("+backend.Address(one)+") and node 3 ("+backend.Address(again)+")")
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

// Nor may one server be named by two addresses. It tells by its run ID, whichever of its databases is used, or by a key
// that both addresses share, and that does not stay: the embedded Redis has no run ID, and a user may not be told it.
func TestRedlockOnOneServerBehindTwoAddresses(t *testing.T) {
	backendtest.Each(t, func(t *testing.T, startServer func(testing.TB) *backendtest.Server) {
		server := startServer(t)
		address, operator := backend.Address(server.URL), backendtest.Client(t, server)
		other := wire(t, address, func([]byte) bool { return false })
		behind := func(url string) string { return strings.Replace(url, address, other, 1) }
		pairs := [][2]string{{server.URL, behind(server.URL)}}
		if server.Kind == backendtest.RedisServer {
			require.NoError(t, operator.Do(t.Context(), "ACL", "SETUSER", "shop", "on", ">pass", "~*", "+@all", "-info").Err())
			user := "redis://shop:pass@" + address
			pairs = append(pairs, [2]string{server.URL, behind(server.URL) + "/1"}, [2]string{user, behind(user)})
		}
		for _, pair := range pairs {
			code, text := exits(t, "--redis", pair[0], "--redlock", pair[0]+","+pair[1])
			assert.Equal(t, 2, code)
			assert.Contains(t, text, "one server twice")
			assert.Empty(t, operator.Keys(t.Context(), "*").Val())
		}
	})
}

// A node that is away, or says nothing, is no reason not to start: Redlock is there to do without it. The log names it.
func TestRedlockWithANodeAway(t *testing.T) {
	server := backendtest.StartEmbedded(t)
	mute := wire(t, backend.Address(server.URL), func([]byte) bool { return true })
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	away := l.Addr().String()
	require.NoError(t, l.Close())
	r := start(t, "--redis", server.URL, "--redlock",
		strings.Join([]string{server.URL, backendtest.StartEmbedded(t).URL, backendtest.StartEmbedded(t).URL,
			"redis://" + mute, "redis://" + away, "redis://no-such-host.invalid"}, ","))
	assert.Equal(t, 200, r.post(t, "/v4/decrease").status)
	for _, named := range []string{"node 4 (" + mute + "): ", "node 5 (" + away + "): ",
		"node 6 (no-such-host.invalid): "} {
		assert.Contains(t, r.logs.text(), named)
	}
}
