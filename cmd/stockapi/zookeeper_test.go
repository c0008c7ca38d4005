package main

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/backend/backendtest"
)

var zkPaths = []string{"/v13/decrease?wait=0s", "/v14/decrease?wait=0s"}

// A ZooKeeper that does not answer is reported at the start, causes clear 503s, and affects no other rung.
func TestZooKeeperDoesNotAnswer(t *testing.T) {
	r := start(t, "--redis", backendtest.StartEmbedded(t).URL, "--zookeeper", "127.0.0.1:1", "--redis-timeout", "100ms")
	assert.Contains(t, r.logs.text(), "no ZooKeeper answers: v13 and v14 say 503 until one does")
	for _, path := range zkPaths {
		begun := time.Now()
		a := r.post(t, path)
		assert.Equal(t, 503, a.status, a.text)
		assert.Equal(t, "backend-away", a.problem())
		assert.Equal(t, "not-sold", a.body["outcome"])
		assert.Less(t, time.Since(begun), 10*time.Second, "and not the wait of the rung, 20 s")
	}
	assert.Equal(t, 200, r.post(t, "/v4/decrease").status)
	assert.Equal(t, 200, r.do(t, http.MethodGet, "/readyz", nil).status)
}

// A ZooKeeper that goes away and returns: 503s, and then sales again, without a restart.
func TestZooKeeperGoesAwayAndReturns(t *testing.T) {
	z := backendtest.StartZooKeeper(t)
	r := start(t, "--redis", backendtest.StartEmbedded(t).URL, "--zookeeper", z.Address, "--redis-timeout", "300ms")
	for _, path := range zkPaths {
		require.Equal(t, 200, r.post(t, path).status)
	}
	z.Kill()
	for _, path := range zkPaths {
		a := r.post(t, path)
		assert.Equal(t, 503, a.status, a.text)
		assert.Equal(t, "backend-away", a.problem())
	}
	z.Start(t)
	back := time.Now()
	for _, path := range zkPaths {
		require.Eventually(t, func() bool { return r.post(t, path).status == 200 }, 20*time.Second, time.Millisecond, path)
	}
	t.Logf("sold again %v after ZooKeeper was back", time.Since(back).Round(time.Millisecond))
}

func TestBadZooKeeperFlags(t *testing.T) {
	url := backendtest.StartEmbedded(t).URL
	for says, args := range map[string][]string{
		"--zookeeper: not a list of ZooKeeper servers": {"--zookeeper", "host:port:nonsense"},
		"--zookeeper-session must lie between":         {"--zookeeper-session", "1ms"},
	} {
		err := run(context.Background(), append(args, "--redis", url, "--addr", "127.0.0.1:0"), strings.NewReader(""),
			io.Discard, io.Discard)
		require.ErrorContains(t, err, says)
		assert.NotContains(t, err.Error(), "\n", "one line")
	}
}
