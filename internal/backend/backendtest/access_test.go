package backendtest_test

import (
	"context"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/backend"
	"stockapi/internal/backend/backendtest"
	"stockapi/internal/backend/sqldb"
)

// knowing returns the URL or DSN with another password, and checks that no command line shows the real one.
func knowing(t *testing.T, raw, guess string) string {
	t.Helper()
	u, err := url.Parse(raw)
	require.NoError(t, err)
	password, _ := u.User.Password()
	require.NotEmpty(t, password)
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline") // none where there is no /proc
	for _, path := range lines {
		line, _ := os.ReadFile(path) // its process may have ended
		assert.NotContains(t, string(line), password)
	}
	u.User = url.UserPassword(u.User.Username(), guess)
	return u.String()
}

func TestAccessToARedisServerNeedsThePassword(t *testing.T) {
	backendtest.Require(t)
	for _, url := range []string{
		backendtest.StartRedis(t).URL, backendtest.StartCluster(t), backendtest.StartShards(t).URL,
		backendtest.StartSentinel(t),
	} {
		for guess, answer := range map[string]string{"": "NOAUTH", "guess": "WRONGPASS"} {
			stranger := redis.NewClient(&redis.Options{Addr: backend.Address(url), Password: guess})
			require.ErrorContains(t, stranger.Do(t.Context(), "ROLE").Err(), answer)
			require.NoError(t, stranger.Close())
		}
		knowing(t, url, "")
	}
}

func TestAccessToAnSQLServerNeedsThePassword(t *testing.T) {
	backendtest.EachSQLServer(t, func(t *testing.T, s *backendtest.SQLServer) {
		for _, guess := range []string{"", "guess"} {
			db, err := sqldb.Open(knowing(t, s.DSN, guess), backend.Options{Timeout: 10 * time.Second, PoolSize: 1})
			require.NoError(t, err)
			require.Regexp(t, "Access denied|password authentication failed", db.Reach(context.Background()).Error())
			require.NoError(t, db.Close())
		}
	})
}
