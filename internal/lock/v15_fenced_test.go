package lock

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Redis' clock is stepped back, or a replica whose clock lags takes over: the tokens grow all the same, each from the
// last, until the clock has caught up. To the script a last token from the future is the same thing.
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
