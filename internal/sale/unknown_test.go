package sale

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/lock"
	"stockapi/internal/stock"
)

// Orders of products that there are not: whatever a rung keeps in Redis for them ends by itself, and is not more than a
// few keys each. In the database it keeps nothing.
func TestUnknownProductsLeaveNothingForGood(t *testing.T) {
	const orders = 100
	eachRung(t, func(t *testing.T, r Status, s *Shop, b lock.Backends) {
		ctx := context.Background()
		n := orders
		if slices.Contains(r.Needs, lock.NeedZooKeeper) {
			n = 20 // each has to be written to disk
		}
		before := b.Redis.DBSize(ctx).Val()
		for i := range n {
			o := order()
			o.Product = fmt.Sprint("unknown", i)
			_, err := s.Decrease(ctx, r.Number, o)
			require.ErrorIs(t, err, stock.ErrNoProduct)
		}
		keys := b.Redis.Keys(ctx, "*").Val()
		assert.LessOrEqual(t, len(keys), int(before)+n, "one each at most")
		for _, key := range keys {
			if key != stock.Key(product) {
				ttl := b.Redis.PTTL(ctx, key).Val()
				assert.Positive(t, ttl, "%s has no TTL", key)
				assert.LessOrEqual(t, ttl, 2*time.Hour, key)
			}
		}
	})
}
