package main

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/backend"
	"stockapi/internal/backend/backendtest"
)

// wire stands before a server. It drops what clients write where drops says so, and passes the rest on.
func wire(t *testing.T, upstream string, drops func(written []byte) bool) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var open sync.WaitGroup
	t.Cleanup(open.Wait)
	t.Cleanup(func() { _ = listener.Close() })
	open.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			open.Go(func() { pass(client, upstream, drops) })
		}
	})
	return listener.Addr().String()
}

// pass passes one connection on, until either side closes it.
func pass(client net.Conn, upstream string, drops func([]byte) bool) {
	defer client.Close()
	server, err := net.Dial("tcp", upstream)
	if err != nil {
		return
	}
	var back sync.WaitGroup
	back.Go(func() { _, _ = io.Copy(client, server); _ = client.Close() })
	defer back.Wait()
	defer server.Close()
	chunk := make([]byte, 64<<10)
	for {
		n, err := client.Read(chunk)
		if err != nil {
			return
		}
		if !drops(chunk[:n]) {
			_, _ = server.Write(chunk[:n])
		}
	}
}

// Where no SUBSCRIBE is ever answered orders wait for as long as they said and no longer, and SIGTERM ends the process.
func TestASubscribeThatIsNeverAnsweredHoldsNobodyUp(t *testing.T) {
	backendtest.Long(t)
	t.Parallel()
	server := backendtest.StartEmbedded(t)
	lossy := wire(t, backend.Address(server.URL), func(written []byte) bool {
		return bytes.Contains(bytes.ToLower(written), []byte("subscribe"))
	})
	other := start(t, "--redis", server.URL, "--faults")
	r := start(t, "--redis", "redis://"+lossy)
	for _, rung := range []string{"v7", "v8"} {
		holding := make(chan answer, 1)
		go func() { holding <- other.post(t, "/"+rung+"/decrease?work=2s") }()
		require.Eventually(t, func() bool { // until it holds the lock
			return r.post(t, "/"+rung+"/decrease?wait=0s").status == http.StatusLocked
		}, 10*time.Second, time.Millisecond)
		assert.Equal(t, http.StatusLocked, r.post(t, "/"+rung+"/decrease?wait=10ms").status)
		assert.Equal(t, http.StatusLocked, r.post(t, "/"+rung+"/decrease?wait=20ms").status)
		assert.Equal(t, http.StatusOK, r.post(t, "/"+rung+"/decrease?wait=1m").status)
		assert.Equal(t, http.StatusOK, (<-holding).status)
	}
	held := backendtest.Client(t, server)
	require.NoError(t, held.HSet(context.Background(), "ReentrantLock_10000", "somebody", 1).Err())
	waiting := make(chan answer, 1)
	go func() { waiting <- r.post(t, "/v7/decrease?wait=1m") }()
	for seen := commands(t, r); commands(t, r) == seen; { // until it has tried
		time.Sleep(time.Millisecond)
	}
	r.end()
	select {
	case err := <-r.done:
		require.NoError(t, err)
		r.done <- err
	case <-time.After(20 * time.Second):
		assert.Fail(t, "it outlives SIGTERM")
	}
	assert.Contains(t, []int{http.StatusServiceUnavailable, http.StatusLocked}, (<-waiting).status)
}

// commands returns how many Redis commands an instance has sent.
func commands(t *testing.T, r *running) string {
	t.Helper()
	for line := range strings.Lines(r.do(t, http.MethodGet, "/metrics", nil).text) {
		if strings.HasPrefix(line, "stockapi_redis_commands_total") {
			return line
		}
	}
	require.Fail(t, "no count")
	return ""
}

// A key of another type is told as what it is, and how to get rid of it.
func TestALockThatIsNoLock(t *testing.T) {
	s := backendtest.StartEmbedded(t)
	r := start(t, "--redis", s.URL)
	rdb, ctx := backendtest.Client(t, s), context.Background()
	for _, c := range []struct{ method, path, key, says string }{
		{"POST", "/v7/decrease", "ReentrantLock_10000", "holds a string, and should hold a hash"},
		{"POST", "/v10/decrease", "ReadWriteLock_10000", "holds a string, and should hold a zset"},
		{"GET", "/v10/stock/10000", "ReadWriteLock_10000", "holds a string, and should hold a zset"},
		{"POST", "/v11/decrease", "Semaphore_10000", "holds a string, and should hold a zset"},
	} {
		require.NoError(t, rdb.Set(ctx, c.key, "1", 0).Err())
		a := r.do(t, c.method, c.path, nil)
		assert.Equal(t, http.StatusBadGateway, a.status, c.path)
		assert.Equal(t, "lock-corrupt", a.problem())
		assert.Equal(t, "not-sold", a.body["outcome"])
		assert.Contains(t, a.body["detail"], c.key+" "+c.says)
		assert.Contains(t, a.body["detail"], "DELETE /locks/10000")
		broken := r.do(t, http.MethodDelete, "/locks/10000", nil)
		assert.EqualValues(t, 1, broken.body["removed"])
		assert.Equal(t, http.StatusOK, r.do(t, c.method, c.path, nil).status, c.path)
	}
}
