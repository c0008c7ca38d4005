package sale

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/backend/backendtest"
	"stockapi/internal/lock"
	"stockapi/internal/metrics"
	"stockapi/internal/stock"
)

// shard puts so many units of the product into shards, and returns their layout.
func shard(t *testing.T, s *Shop, quantity int64, shards int) *stock.Layout {
	t.Helper()
	require.NoError(t, s.shelf.PutSharded(t.Context(), product, quantity, shards, 0))
	l, err := s.shelf.Layout(t.Context(), product)
	require.NoError(t, err)
	return l
}

// beside returns the shop of another instance on the same servers.
func beside(s *Shop, b lock.Backends) *Shop {
	return New("b", lock.Ladder(), s.shelf, b, metrics.New("b"), slog.New(slog.DiscardHandler))
}

// at returns an order that begins at that shard.
func at(shard, quantity int64) Order {
	o := order()
	o.Shard, o.Quantity = &shard, quantity
	return o
}

// unitsOf returns the units of receipts, sorted.
func unitsOf(receipts []Receipt) (units []int64) {
	for _, r := range receipts {
		units = append(units, r.Units...)
	}
	slices.Sort(units)
	return units
}

func upTo(n int64) (units []int64) {
	for i := range n {
		units = append(units, i+1)
	}
	return units
}

// Every rung sells what shards have, to the last unit and none twice, and then is sold out.
func TestEveryRungSellsFromShards(t *testing.T) {
	eachRung(t, func(t *testing.T, r Status, s *Shop, b lock.Backends) {
		l := shard(t, s, 10, 4)
		shops := []*Shop{s, beside(s, b)}
		var receipts []Receipt
		for i := range 10 {
			receipt, err := shops[i%2].Decrease(t.Context(), r.Number, order())
			require.NoError(t, err)
			assert.Equal(t, product, receipt.Product)
			below := int64(-1)
			for j := range l.Shards {
				if l.Name(j) == receipt.Shard {
					below = l.Below(j)
				}
			}
			assert.Equal(t, []int64{below + receipt.Left + 1}, receipt.Units, "of %s", receipt.Shard)
			receipts = append(receipts, receipt)
		}
		assert.Equal(t, upTo(10), unitsOf(receipts))
		receipt, err := s.Decrease(t.Context(), r.Number, order())
		require.ErrorIs(t, err, stock.ErrSoldOut)
		assert.NotEmpty(t, receipt.Shard)
	})
}

// Two instances at once: each unit is sold once, and as many orders are sold out as there are units missing.
func TestARushOnShards(t *testing.T) {
	for _, id := range []string{"v4", "v15", "v17", "v18", "v19"} {
		t.Run(id, func(t *testing.T) {
			s, b := newShop(t, backendtest.StartEmbedded(t))
			shard(t, s, 30, 8)
			shops := []*Shop{s, beside(s, b)}
			receipts, errs := make([]Receipt, 40), make([]error, 40)
			var all sync.WaitGroup
			for i := range receipts {
				all.Go(func() {
					o, wait := order(), time.Minute
					o.Wait = &wait
					receipts[i], errs[i] = shops[i%2].Decrease(context.Background(), id, o)
				})
			}
			all.Wait()
			for _, err := range errs {
				if err != nil {
					require.ErrorIs(t, err, stock.ErrSoldOut)
				}
			}
			assert.Equal(t, upTo(30), unitsOf(receipts))
		})
	}
}

// The last unit is found, wherever it is and wherever the order begins.
func TestTheLastUnitIsFound(t *testing.T) {
	s, _ := newShop(t, backendtest.StartEmbedded(t))
	for last := range int64(4) {
		for begin := range int64(4) {
			l := shard(t, s, 4, 4)
			for i := range int64(4) {
				if i != last {
					_, err := s.Decrease(t.Context(), "v4", at(i, 1))
					require.NoError(t, err)
				}
			}
			receipt, err := s.Decrease(t.Context(), "v4", at(begin, 1))
			require.NoError(t, err)
			assert.Equal(t, []int64{last + 1}, receipt.Units)
			assert.Equal(t, l.Name(int(last)), receipt.Shard)
		}
	}
}

// The orders of an instance begin at each shard in turn.
func TestOrdersAreSpreadOverTheShards(t *testing.T) {
	s, _ := newShop(t, backendtest.StartEmbedded(t))
	shard(t, s, 80, 8)
	times := map[string]int{}
	for range 24 {
		receipt, err := s.Decrease(t.Context(), "v4", order())
		require.NoError(t, err)
		times[receipt.Shard]++
	}
	assert.Len(t, times, 8)
	for name, n := range times {
		assert.Equal(t, 3, n, name)
	}
}

// An instance that knows an old layout sells by the new one, whatever took the place of the old one.
func TestAnOldLayoutSellsNothing(t *testing.T) {
	eachRung(t, func(t *testing.T, r Status, s *Shop, _ lock.Backends) {
		sells := func(want int64, sharded bool) {
			t.Helper()
			receipt, err := s.Decrease(t.Context(), r.Number, at(0, 1))
			require.NoError(t, err)
			assert.Equal(t, []int64{want}, receipt.Units)
			assert.Equal(t, sharded, receipt.Shard != "")
		}
		shard(t, s, 80, 8)
		sells(10, true)
		shard(t, s, 6, 2)
		sells(3, true)
		require.NoError(t, s.shelf.Put(t.Context(), product, 5))
		sells(5, false)
		shard(t, s, 80, 8)
		sells(10, true)
		require.NoError(t, s.shelf.Remove(t.Context(), product))
		_, err := s.Decrease(t.Context(), r.Number, order())
		require.ErrorIs(t, err, stock.ErrNoProduct)
	})
}

// An order that waits for the product's own lock stops waiting for it when another order has found shards.
func TestWhoWaitsForTheProductLearnsOfItsShards(t *testing.T) {
	for _, id := range []string{"v4", "v7", "v8", "v18", "v19"} {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			s, b := newShop(t, backendtest.StartEmbedded(t))
			l := shard(t, s, 8, 8)
			r, err := lock.Find(id)
			require.NoError(t, err)
			one, wait := r.Build(b)
			holder, err := wait(t.Context(), r.Key(product), time.Minute, func(ctx context.Context) (*lock.Lease, error) {
				return one(ctx, r.Key(product), time.Minute)
			})
			require.NoError(t, err)
			o, patience := order(), time.Minute
			o.Wait = &patience
			var waiter sync.WaitGroup
			waiter.Go(func() {
				receipt, err := s.Decrease(context.Background(), id, o)
				assert.NoError(t, err)
				assert.NotEmpty(t, receipt.Shard)
			})
			time.Sleep(50 * time.Millisecond) // it may wait by now; if not, it learns before it does
			s.layouts.set(product, l)
			if id != "v4" { // which looks again and again; the others look when they are woken
				require.NoError(t, holder.Unlock(t.Context()))
			}
			waiter.Wait()
			if id == "v4" {
				require.NoError(t, holder.Unlock(t.Context()))
			}
			_, err = s.Decrease(t.Context(), id, o)
			require.NoError(t, err)
		})
	}
}

// A product without shards costs no command more than before there were shards.
func TestAProductWithoutShardsCostsNoCommandMore(t *testing.T) {
	s, _ := newShop(t, backendtest.StartEmbedded(t))
	for _, want := range []struct {
		rung     string
		commands []string
	}{
		{"v4", []string{"set", "get", "set", "eval:release"}},
		{"v17", []string{"eval:take"}},
	} {
		var commands []string
		for range 2 { // the first loads the scripts
			o := order()
			o.Trace = true
			receipt, err := s.Decrease(t.Context(), want.rung, o)
			require.NoError(t, err)
			commands = nil
			for _, e := range receipt.Trace {
				commands = append(commands, e.Cmd)
			}
		}
		assert.Equal(t, want.commands, commands)
	}
}

// v9 collects more units than any shard has, all or none. The other rungs say that they do not.
func TestMoreThanAnyShardHas(t *testing.T) {
	eachRung(t, func(t *testing.T, r Status, s *Shop, _ lock.Backends) {
		shard(t, s, 8, 8)
		o := order()
		o.Quantity = 5
		receipt, err := s.Decrease(t.Context(), r.Number, o)
		if r.Number != "v9" && r.Number != "v9-naive" {
			require.ErrorIs(t, err, ErrScattered)
			o.Quantity = 9
			_, err = s.Decrease(t.Context(), r.Number, o)
			require.ErrorIs(t, err, stock.ErrSoldOut)
			sum, _, _, err := s.shelf.Count(t.Context(), product)
			require.NoError(t, err)
			assert.EqualValues(t, 8, sum)
			return
		}
		require.NoError(t, err)
		assert.Equal(t, "*", receipt.Shard)
		assert.EqualValues(t, 3, receipt.Left)
		rest, err := s.Decrease(t.Context(), r.Number, at(0, 3))
		require.NoError(t, err)
		assert.Equal(t, upTo(8), unitsOf([]Receipt{receipt, rest}))
		_, err = s.Decrease(t.Context(), r.Number, o)
		require.ErrorIs(t, err, stock.ErrSoldOut)
	})
}

// Orders that collect hold no lock while they wait for another, so they never wait for each other, nor for those of one
// shard. Each unit is sold once.
func TestManyCollectAtOnce(t *testing.T) {
	for _, id := range []string{"v9", "v9-naive"} { // the latter waits holding, and so depends on the order of the locks
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			collectAtOnce(t, id)
		})
	}
}

func collectAtOnce(t *testing.T, id string) {
	t.Helper()
	s, b := newShop(t, backendtest.StartEmbedded(t))
	shard(t, s, 60, 4)
	shops := []*Shop{s, beside(s, b)}
	receipts := make([]Receipt, 30)
	var all sync.WaitGroup
	for i := range receipts {
		all.Go(func() {
			o, wait := order(), time.Minute
			o.Wait = &wait
			if i%3 == 0 {
				o.Quantity = 16 // no shard ever has as many
			}
			var err error
			if receipts[i], err = shops[i%2].Decrease(context.Background(), id, o); err != nil {
				assert.ErrorIs(t, err, stock.ErrSoldOut)
			}
		})
	}
	all.Wait()
	units := unitsOf(receipts)
	assert.Len(t, slices.Compact(slices.Clone(units)), len(units))
	sum, _, _, err := s.shelf.Count(t.Context(), product)
	require.NoError(t, err)
	assert.EqualValues(t, 60, sum+int64(len(units)))
}

// The wait of an order is one for all shards that it comes to.
func TestTheWaitIsOneForAllShards(t *testing.T) {
	o, wait := at(0, 1), 100*time.Millisecond
	o.Wait = &wait
	require.Zero(t, *o.within(time.Now().Add(-time.Second)).Wait)
	require.LessOrEqual(t, *o.within(time.Now().Add(wait)).Wait, wait)
	s, b := newShop(t, backendtest.StartEmbedded(t))
	l := shard(t, s, 3, 3)
	_, err := s.Decrease(t.Context(), "v4", at(0, 1))
	require.NoError(t, err)
	for i := range l.Shards {
		if i > 0 {
			require.NoError(t, b.Redis.Set(t.Context(), "DistributedLock_"+l.Name(i), "another's", 0).Err())
		}
	}
	receipt, err := s.Decrease(t.Context(), "v4", o)
	require.ErrorIs(t, err, lock.ErrBusy)
	assert.Nil(t, receipt.Lease, "that of the first shard is no lease of the one that it waits for")
}

// A sharded product has no stock that a reader's lock would guard, and is not one of several products of an order.
func TestWhereShardsAreNotPossible(t *testing.T) {
	s, _ := newShop(t, backendtest.StartEmbedded(t))
	shard(t, s, 80, 8)
	_, err := s.Read(t.Context(), "v10", order())
	require.ErrorIs(t, err, ErrSharded)
	_, err = s.Decrease(t.Context(), "v4", order())
	require.NoError(t, err)
	require.NoError(t, s.shelf.Put(t.Context(), product, 5))
	_, err = s.Read(t.Context(), "v10", order())
	require.NoError(t, err, "what the instance remembers is over")
	shard(t, s, 80, 8)
	_, err = s.Decrease(t.Context(), "v9", Order{TTL: time.Minute, Items: []stock.Item{{Product: product, Quantity: 1}}})
	require.ErrorIs(t, err, ErrSharded)
}

// On a cluster the shards, and their locks, are on several nodes.
func TestShardsOnACluster(t *testing.T) {
	c := backendtest.StartShards(t)
	s, _ := newShop(t, &backendtest.Server{URL: c.URL})
	for _, id := range []string{"v4", "v9", "v15", "v17", "v18"} {
		shard(t, s, 10, 8)
		var receipts []Receipt
		for range 10 {
			receipt, err := s.Decrease(t.Context(), id, order())
			require.NoError(t, err, id)
			receipts = append(receipts, receipt)
		}
		assert.Equal(t, upTo(10), unitsOf(receipts), id)
		_, err := s.Decrease(t.Context(), id, order())
		require.ErrorIs(t, err, stock.ErrSoldOut, id)
	}
	shard(t, s, 10, 8)
	receipt, err := s.Decrease(t.Context(), "v9", at(0, 9))
	require.NoError(t, err)
	assert.Len(t, receipt.Units, 9)
	assert.EqualValues(t, 1, receipt.Left)
}
