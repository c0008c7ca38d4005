package sale

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/backend/backendtest"
	"stockapi/internal/lock"
	"stockapi/internal/stock"
)

// Orders of unknown products leave nothing in Redis and ZooKeeper, or clients could fill them.
func TestUnknownProductsLeaveNothing(t *testing.T) {
	const orders = 10
	eachRung(t, func(t *testing.T, r Status, s *Shop, b lock.Backends) {
		ctx, unknown := context.Background(), rand.Text()
		n := orders
		if slices.Contains(r.Needs, lock.NeedZooKeeper) {
			n = 20 // each has to be written to disk
		}
		for i := range n {
			o := order()
			o.Product = fmt.Sprint(unknown, i)
			_, err := s.Decrease(ctx, r.Number, o)
			require.ErrorIs(t, err, stock.ErrNoProduct)
		}
		assert.Equal(t, []string{stock.Key(product)}, b.Redis.Keys(ctx, "*").Val())
		if b.ZooKeeper != nil {
			for _, root := range []string{"/stockapi/ephemeral", "/stockapi/sequential"} {
				names, _ := b.ZooKeeper.Children(ctx, root)
				assert.NotContains(t, strings.Join(names, " "), unknown)
			}
		}
	})
}

// Nor does an order whose client goes away as soon as it holds the lock, alone or with others. The fence of a known
// product stays, and so does that of one that was sold under a token.
func TestFencesOfUnknownProducts(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"v15", "v15-write-only", "v18", "v19"} {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			s, b := newShop(t, backendtest.StartEmbedded(t))
			fences := func() []string { return b.Redis.Keys(context.Background(), "{*Lock_*}:fence").Val() }
			gone, leave := context.WithCancel(context.Background())
			b.Redis.AddHook(beforeEach(func(cmd redis.Cmder) {
				if strings.Contains(cmd.String(), stock.Key("")) {
					leave()
				}
			}))
			o := order()
			o.Product = "unknown"
			want := context.Canceled
			if id == "v19" {
				want = stock.ErrNoProduct // the stock is read for the batch, even if clients have gone
			}
			_, err := s.Decrease(gone, id, o)
			require.ErrorIs(t, err, want)
			assert.Empty(t, fences())

			wait := time.Minute
			o.Wait = &wait
			var crowd sync.WaitGroup
			for range 20 {
				crowd.Go(func() {
					_, err := s.Decrease(context.Background(), id, o)
					assert.ErrorIs(t, err, stock.ErrNoProduct)
				})
			}
			crowd.Wait()
			assert.Empty(t, fences())

			_, err = s.Decrease(context.Background(), id, order())
			require.NoError(t, err)
			require.Len(t, fences(), 1)
			require.NoError(t, s.shelf.Remove(context.Background(), product))
			_, err = s.Decrease(context.Background(), id, order())
			require.ErrorIs(t, err, stock.ErrNoProduct)
			assert.Len(t, fences(), 1, "it may be put back")
		})
	}
}
