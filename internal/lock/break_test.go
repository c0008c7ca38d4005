package lock

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/backend/backendtest"
)

// To break the locks of a product leaves nothing of them, whatever a rung keeps beside its key.
func TestBreakLeavesNothing(t *testing.T) {
	backendtest.Each(t, func(t *testing.T, start func(testing.TB) *backendtest.Server) {
		s := newShop(t, start, 1)
		for _, id := range []string{"v4", "v7", "v8", "v10", "v11", "v15"} {
			r := rung(t, id)
			a := s.instance(t, r)
			a.lock(t, r.Key("10000"), time.Minute)
			n, err := a.Break(context.Background(), "10000")
			require.NoError(t, err)
			assert.EqualValues(t, 1, n, id)
			assert.Zero(t, a.Redis.DBSize(context.Background()).Val(), id)
		}
	})
}
