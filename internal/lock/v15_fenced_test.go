package lock

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Redis' clock steps back, or a replica with a late clock takes over: the tokens still grow, each from the last one,
// until the clock has caught up. The test sets a last token from the future, which looks the same to the script.
func TestFencesGrowWhenTheClockStepsBack(t *testing.T) {
	t.Parallel()
	onEach(t, "v15", func(t *testing.T, a, b *instance, bare redis.UniversalClient) {
		unlock(t, a.lock(t, "k", time.Minute))
		last := time.Now().Add(time.Hour).UnixMicro()
		require.NoError(t, bare.Set(context.Background(), fenceOf("k"), last, 0).Err())
		for i := range 4 {
			lease := []*instance{a, b}[i%2].lock(t, "k", time.Minute)
			assert.Equal(t, last+int64(i)+1, lease.Fence)
			unlock(t, lease)
		}
	})
}
