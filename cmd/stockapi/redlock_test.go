package main

import (
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/backend"
	"stockapi/internal/backend/backendtest"
)

// An instance starts without nodes of Redlock that do not answer or refuse, and its log names them.
func TestRedlockWithANodeAway(t *testing.T) {
	server, refuses := backendtest.StartEmbedded(t), startRefusing(t)
	mute, err := net.Listen("tcp", "127.0.0.1:0") // its backlog accepts connections that are never served
	require.NoError(t, err)
	t.Cleanup(func() { _ = mute.Close() })
	away, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, away.Close())
	named := []string{refuses, mute.Addr().String(), away.Addr().String(), "no-such-host.invalid"}
	r := start(t, "--redis", server.URL, "--redlock", server.URL+",redis://"+strings.Join(named, ",redis://"))
	assert.Equal(t, 200, r.post(t, "/v4/decrease").status)
	for _, node := range named {
		assert.Contains(t, r.logs.text(), `"node":"`+node+`"`)
	}
	assert.NotContains(t, r.logs.text(), `"node":"`+backend.Address(server.URL)+`"`)
}

// Each order would ask a node that is listed twice twice, and it would refuse the second time: v6 might find no quorum.
func TestRedlockWithANodeNamedTwice(t *testing.T) {
	url := "redis://:" + canary + "@127.0.0.1:1"
	code, text := exits(t, "--redlock", url+",redis://127.0.0.1:2,"+url)
	assert.Equal(t, 2, code)
	assert.Contains(t, text, "--redlock names redis://127.0.0.1:1 twice: name each node once")
	assert.Equal(t, 1, strings.Count(text, "\n"), "one line")
	assert.NotContains(t, text, canary)
}

// startRefusing starts a Redis that refuses every command, and returns its address.
func startRefusing(t *testing.T) string {
	t.Helper()
	e, err := backend.StartEmbedded("127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(e.Close)
	e.Server().RequireAuth("secret")
	return e.Addr()
}
