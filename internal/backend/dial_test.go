package backend_test

import (
	"crypto/tls"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/backend"
	"stockapi/internal/backend/backendtest"
)

// A server that closes idle connections costs no command, also over TLS: a write on such a connection could only fail
// with an unknown outcome. Connections that are open are kept.
func TestTLSConnectionClosedByTheServer(t *testing.T) {
	backendtest.Long(t)
	single, sentinel, cluster := backendtest.StartTLS(t)
	for name, url := range map[string]string{"single": single, "sentinel": sentinel, "cluster": cluster} {
		t.Run(name, func(t *testing.T) {
			client, err := backend.Open(url, backend.Options{Timeout: 10 * time.Second, PoolSize: 2})
			require.NoError(t, err)
			defer client.Close()
			trust(client).InsecureSkipVerify = true
			for n := range int64(20) {
				got, err := client.Incr(t.Context(), "sold by "+name).Result()
				require.NoError(t, err)
				require.Equal(t, n+1, got)
			}
			require.Zero(t, client.PoolStats().StaleConns, "they are all open")

			operator, err := backend.Open(url, backend.Options{Timeout: 10 * time.Second, PoolSize: 1})
			require.NoError(t, err)
			defer operator.Close()
			trust(operator).InsecureSkipVerify = true
			kill := []any{"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"} // as the server's timeout does
			require.NoError(t, operator.Do(t.Context(), kill...).Err())

			got, err := client.Incr(t.Context(), "sold by "+name).Result()
			require.NoError(t, err)
			assert.EqualValues(t, 21, got, "sent once")
			assert.EqualValues(t, 1, client.PoolStats().StaleConns)
		})
	}
}

// trust returns the settings for TLS of a client that has not yet connected.
func trust(client redis.UniversalClient) *tls.Config {
	if c, is := client.(*redis.ClusterClient); is {
		return c.Options().TLSConfig
	}
	return client.(*redis.Client).Options().TLSConfig
}
