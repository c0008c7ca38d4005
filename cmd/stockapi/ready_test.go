package main

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/backend"
	"stockapi/internal/backend/backendtest"
)

// becomes waits until /readyz has that status: its answer is cached for a moment.
func (r *running) becomes(t *testing.T, status int) {
	t.Helper()
	require.Eventually(t, func() bool { return r.do(t, http.MethodGet, "/readyz", nil).status == status },
		10*time.Second, 10*time.Millisecond)
}

// An instance whose orders all fail is not ready, though its Redis answers a ping. The log has the reason.
func TestNotReadyWhenNoOrderCouldBeServed(t *testing.T) {
	backendtest.Require(t)
	backendtest.Long(t)
	t.Parallel()
	for name, c := range map[string]struct {
		breaks, mends [][]any
		says          string
	}{
		"full": {[][]any{{"CONFIG", "SET", "maxmemory", "1"}}, [][]any{{"CONFIG", "SET", "maxmemory", "0"}},
			"OOM"},
		"a replica": {[][]any{{"REPLICAOF", "127.0.0.1", "1"}}, [][]any{{"REPLICAOF", "NO", "ONE"}}, "READONLY"},
		"no scripts": {[][]any{{"ACL", "SETUSER", "shop", "-eval", "-evalsha"}},
			[][]any{{"ACL", "SETUSER", "shop", "+@all"}}, "NOPERM"},
		"no writes": {[][]any{{"ACL", "SETUSER", "shop", "-set"}}, [][]any{{"ACL", "SETUSER", "shop", "+@all"}},
			"can't run this command"},
		"lost a replica": {[][]any{{"CONFIG", "SET", "min-replicas-to-write", "1"}},
			[][]any{{"CONFIG", "SET", "min-replicas-to-write", "0"}}, "NOREPLICAS"},
		"other passwords": {[][]any{{"ACL", "SETUSER", "shop", "resetpass", ">new"}, {"CLIENT", "KILL", "USER", "shop"}},
			[][]any{{"ACL", "SETUSER", "shop", ">pass"}}, "WRONGPASS"},
	} {
		for _, role := range []string{"stock", "locks"} {
			t.Run(name+" "+role, func(t *testing.T) {
				t.Parallel()
				s, other := backendtest.StartRedis(t), backendtest.StartEmbedded(t)
				operator := backendtest.Client(t, s)
				do := func(commands ...[]any) {
					for _, command := range commands {
						require.NoError(t, operator.Do(context.Background(), command...).Err(), command)
					}
				}
				do([]any{"ACL", "SETUSER", "shop", "on", ">pass", "~*", "&*", "+@all"})
				url := "redis://shop:pass@" + backend.Address(s.URL)
				args := []string{"--redis", url}
				if role == "locks" {
					args = []string{"--redis", other.URL, "--lock-redis", url}
				}
				r := start(t, args...)
				r.becomes(t, 200)
				do(c.breaks...)
				r.becomes(t, 503)
				assert.Contains(t, r.logs.text(), c.says)
				assert.Contains(t, r.logs.text(), "the "+map[string]string{"stock": "stock's", "locks": "locks'"}[role]+" Redis")
				assert.Equal(t, 503, r.post(t, "/v15/decrease").status, "it tells the truth")
				assert.Equal(t, 200, r.do(t, http.MethodGet, "/livez", nil).status, "a restart would not help")
				do(c.mends...)
				r.becomes(t, 200)
				assert.Equal(t, 200, r.post(t, "/v15/decrease").status)
				assert.NotContains(t, operator.Keys(context.Background(), "*").Val(), readyKey, "it leaves nothing")
			})
		}
	}
}
