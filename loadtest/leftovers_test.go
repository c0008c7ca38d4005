package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// noEnd returns all keys, each with "no TTL" after it if it has none: at this instant, whoever is under way.
var noEnd = redis.NewScript(`
local found = {}
for _, key in ipairs(redis.call('KEYS', '*')) do
  if redis.call('PTTL', key) == -1 then key = key .. ' no TTL' end
  found[#found + 1] = key
end
return found`)

// Everything that a run is told to stop for, and everything that started it, may be killed at any instant. So at no
// instant there is a key without a TTL, a lock of v1 included.
func TestEverythingOnAForeignRedisHasATTL(t *testing.T) {
	t.Parallel()
	needsProc(t)
	stockapi(t)
	url, tmp := foreignRedis(t), ownTemp(t)
	o, err := redis.ParseURL(url)
	require.NoError(t, err)
	client := redis.NewClient(o)
	defer client.Close()

	cmd := tmp.command("--backend", url, "--scenarios", "two-instances",
		"--rungs", "v1,v1.5,v5,v7,v8,v9,v10,v11,v15", "--requests", "30", "--concurrency", "10", "--work", "20ms")
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { tmp.kill("") })
	stays, seen := map[string]bool{}, map[string]bool{}
	ofLastRung := func() bool {
		found, err := noEnd.Run(context.Background(), client, nil).StringSlice()
		assert.NoError(t, err)
		for _, key := range found {
			if strings.HasSuffix(key, " no TTL") {
				stays[key] = true
			}
			_, rung, _ := strings.Cut(key[max(strings.Index(key, "lt-"), 0):], "-v")
			rung, _, _ = strings.Cut(rung, "}")
			seen[rung] = true
		}
		return seen["15"]
	}
	require.Eventually(t, ofLastRung, 2*time.Minute, time.Millisecond)
	tmp.kill("")
	_ = cmd.Wait()
	require.Eventually(t, func() bool { return len(tmp.processes()) == 0 }, 20*time.Second, 20*time.Millisecond)
	ofLastRung()
	remain, err := client.Keys(context.Background(), "*").Result()
	require.NoError(t, err)
	assert.NotEmpty(t, remain, "nobody could remove it")
	assert.Empty(t, stays, "these stay for good")
}
