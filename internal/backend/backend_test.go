package backend

import (
	"context"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	Silence()
	goleak.VerifyTestMain(m)
}

var options = Options{Timeout: time.Second, PoolSize: 4}

func TestOpenChoosesTheClient(t *testing.T) {
	for url, want := range map[string]any{
		"redis://127.0.0.1:1":                                             &redis.Client{},
		"redis://127.0.0.1:1?addr=127.0.0.1:2":                            &redis.ClusterClient{},
		"redis://127.0.0.1:1?cluster=true":                                &redis.ClusterClient{},
		"redis://127.0.0.1:1?master_name=shop":                            &redis.Client{}, // one that asks a Sentinel
		"rediss://user:secret@127.0.0.1:1/2?addr=127.0.0.1:2&cluster=yes": &redis.ClusterClient{},
	} {
		client, err := Open(url, options)
		require.NoError(t, err, url)
		assert.IsType(t, want, client, url)
		require.NoError(t, client.Close())
	}
}

func TestEmbeddedFollowsTheClock(t *testing.T) {
	e, err := StartEmbedded("127.0.0.1:0")
	require.NoError(t, err)
	defer e.Close()
	client, err := Open(e.URL(), options)
	require.NoError(t, err)
	defer client.Close()
	ctx := context.Background()
	require.NoError(t, Ping(ctx, client))
	require.NoError(t, client.Set(ctx, "k", "v", 100*time.Millisecond).Err())
	assert.Positive(t, client.PTTL(ctx, "k").Val())
	assert.Eventually(t, func() bool { return client.Exists(ctx, "k").Val() == 0 }, 10*time.Second, 5*time.Millisecond)

	_, err = StartEmbedded(e.Addr())
	require.Error(t, err, "the port is taken")
}

// Windows cannot check whether a server has closed an idle connection, so it is not reused.
func TestIdleConnectionsOnWindows(t *testing.T) {
	assert.Equal(t, time.Minute, maxIdle("windows", 0))
	assert.Equal(t, time.Hour, maxIdle("windows", time.Hour), "as the URL says")
	assert.Zero(t, maxIdle("linux", 0))
}

// Ping retries a server that is slow at first, but not one that refuses connections.
func TestPingIsPatient(t *testing.T) {
	e, err := StartEmbedded("127.0.0.1:0")
	require.NoError(t, err)
	defer e.Close()
	var dials atomic.Int64
	slowAtFirst := redis.NewClient(&redis.Options{Addr: e.Addr(), MaxRetries: -1, DialerRetries: 1,
		Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
			if dials.Add(1) <= 2 {
				return nil, os.ErrDeadlineExceeded
			}
			return new(net.Dialer).DialContext(ctx, network, addr)
		}})
	defer slowAtFirst.Close()
	require.NoError(t, Ping(t.Context(), slowAtFirst))
	assert.EqualValues(t, 3, dials.Load())

	var refused atomic.Int64
	gone := redis.NewClient(&redis.Options{MaxRetries: -1, DialerRetries: 1,
		Dialer: func(context.Context, string, string) (net.Conn, error) {
			refused.Add(1)
			return nil, syscall.ECONNREFUSED
		}})
	defer gone.Close()
	require.ErrorIs(t, Ping(t.Context(), gone), syscall.ECONNREFUSED)
	assert.EqualValues(t, 1, refused.Load())
}

// A name from an operator becomes one that servers and rows can list.
func TestPlain(t *testing.T) {
	for name, plain := range map[string]string{"": "", "a": "a", "till7.eu_1": "till7.eu_1", "a b:c,d'é": "a-b-c-d--",
		"0123456789abc": "0123456789"} {
		assert.Equal(t, plain, SafeName(name, 10))
	}
}
