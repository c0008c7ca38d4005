package cluster

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestWhatARunThatWasKilledHasLeftEndsAfterTheNextOne(t *testing.T) {
	_, ctx, b := onRedisServer(t)
	ours := []string{"DistributedLock_lt-1a2b3c4d-12-v1", "DistributedLock_lt-1a2b3c4d-3-v1_5", "ProductStock_lt-1a2b3c4d"}
	others := []string{"DistributedLock_10000", "DistributedLock_alt-1a2b3c4d-1", "lt-1a2b3c4d of mine",
		"ProductStock_lt-shoes"}
	const soon = "{DistributedLock_lt-1a2b3c4d-3-v8}:queue"
	require.NoError(t, withClient(b.URL, func(c *redis.Client) error {
		for _, key := range append(ours, others...) {
			require.NoError(t, c.Set(ctx, key, "1", 0).Err())
		}
		require.NoError(t, c.Set(ctx, soon, "1", time.Minute).Err())
		_, err := foreignRedis(ctx, b.URL)
		require.NoError(t, err)
		for _, key := range ours {
			assert.InDelta(t, leftFor, c.PTTL(ctx, key).Val(), float64(time.Hour), key)
		}
		for _, key := range others {
			assert.Negative(t, c.PTTL(ctx, key).Val(), "%s is none of ours", key)
		}
		assert.LessOrEqual(t, c.PTTL(ctx, soon).Val(), time.Minute, "it ends by itself")
		return nil
	}))
}
