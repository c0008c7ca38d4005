package sale

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/backend/backendtest"
	"stockapi/internal/lock"
	"stockapi/internal/stock"
)

// On v19 one waiting order sells for all. Only that one has a lease, and the others name it. Each gets units of its
// own, and the orders without units are sold out.
func TestOrdersThatAreSoldTogether(t *testing.T) {
	t.Parallel()
	const orders = 120
	s, _ := newShopFor(t, backendtest.StartEmbedded(t), lock.Rung{})
	holds, goOn := make(chan struct{}), make(chan struct{})
	s.byID["v19"].sell = heldUp(s.byID["v19"].sell, holds, goOn)
	receipts, errs := make([]Receipt, orders), make([]error, orders)
	var all sync.WaitGroup
	buy := func(i int) {
		all.Go(func() { receipts[i], errs[i] = s.Decrease(context.Background(), "v19", order()) })
	}
	buy(0)
	<-holds
	for i := 1; i < orders; i++ {
		buy(i)
	}
	close(goOn)
	all.Wait()

	leases := map[string]int64{} // the fencing token of each order with a lease
	var units []int64
	for i, r := range receipts {
		if r.SoldBy == "" {
			leases[r.Order] = r.Lease.Fence
		}
		units = append(units, r.Units...)
		if errs[i] != nil {
			require.ErrorIs(t, errs[i], stock.ErrSoldOut)
		}
	}
	for _, r := range receipts {
		if r.SoldBy != "" {
			assert.Nil(t, r.Lease)
			assert.Contains(t, leases, r.SoldBy)
		}
	}
	assert.Less(t, len(leases), orders/2)
	fences := map[int64]bool{}
	for _, fence := range leases {
		fences[fence] = true
	}
	assert.Len(t, fences, len(leases), "each lease has a token of its own")
	slices.Sort(units)
	for i, unit := range units {
		assert.EqualValues(t, i+1, unit)
	}
	assert.Len(t, units, 100)
	assert.Zero(t, left(t, s))
}

// heldUp holds up the first sale.
func heldUp(sell stock.Sell, holds, goOn chan struct{}) stock.Sell {
	var first sync.Once
	return func(ctx context.Context, o stock.Order) (int64, error) {
		first.Do(func() {
			close(holds)
			<-goOn
		})
		return sell(ctx, o)
	}
}
