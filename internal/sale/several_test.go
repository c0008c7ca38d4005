package sale

import (
	"context"
	"errors"
	"os"
	"slices"
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

const second = "10001"

// newShopOfTwo returns a shop with 100 units of one product and 10 of a second.
func newShopOfTwo(t *testing.T) (*Shop, lock.Backends) {
	t.Helper()
	s, b := newShop(t, backendtest.StartEmbedded(t))
	require.NoError(t, s.shelf.Put(context.Background(), second, 10))
	return s, b
}

func orderOf(items ...stock.Item) Order {
	return Order{Items: items, Options: lock.Options{TTL: time.Minute}}
}

// leftOfBoth returns what is left of the first product and of the second.
func leftOfBoth(t *testing.T, s *Shop) [2]int64 {
	t.Helper()
	n, err := s.shelf.Left(context.Background(), second)
	require.NoError(t, err)
	return [2]int64{left(t, s), n}
}

func TestASaleOfSeveralProducts(t *testing.T) {
	for _, id := range []string{"v9", "multilock", "v9-naive", "one-by-one"} {
		s, b := newShopOfTwo(t)
		receipt, err := s.Decrease(context.Background(), id, orderOf(stock.Item{Product: second, Quantity: 2},
			stock.Item{Product: product, Quantity: 1}))
		require.NoError(t, err)
		assert.Equal(t, []Item{
			{Product: second, Quantity: 2, Left: 8, Units: []int64{9, 10}},
			{Product: product, Quantity: 1, Left: 99, Units: []int64{100}},
		}, receipt.Items)
		assert.Equal(t, second, receipt.Product, "the fields of a single sale are those of the first item")
		assert.EqualValues(t, 8, receipt.Left)
		assert.Equal(t, []int64{9, 10}, receipt.Units)
		assert.NotEmpty(t, receipt.Lease.Token)
		assert.Equal(t, [2]int64{99, 8}, leftOfBoth(t, s))
		keys, err := b.Redis.Keys(context.Background(), "DistributedLock_*").Result()
		require.NoError(t, err)
		assert.Empty(t, keys)
	}
}

// All or none: an item that cannot be sold, at any position, leaves the others unsold and every lock free.
func TestAllOrNone(t *testing.T) {
	for name, c := range map[string]struct {
		bad  stock.Item
		want error
	}{
		"too many":        {stock.Item{Product: second, Quantity: 11}, stock.ErrSoldOut},
		"no such product": {stock.Item{Product: "10002", Quantity: 1}, stock.ErrNoProduct},
	} {
		for _, id := range []string{"v9", "v9-naive"} {
			t.Run(id+"/"+name, func(t *testing.T) {
				s, _ := newShopOfTwo(t)
				good := stock.Item{Product: product, Quantity: 1}
				for _, items := range [][]stock.Item{{good, c.bad}, {c.bad, good}} {
					receipt, err := s.Decrease(context.Background(), id, orderOf(items...))
					require.ErrorIs(t, err, c.want)
					require.ErrorContains(t, err, c.bad.Product, "it is named")
					assert.Empty(t, receipt.Items)
					assert.Equal(t, [2]int64{100, 10}, leftOfBoth(t, s))
				}
				_, err := s.Decrease(context.Background(), id, order())
				require.NoError(t, err, "the locks were given back")
			})
		}
	}
}

// A lease that is lost while at work, of whichever product, sells nothing of the order.
func TestALeaseLostAtWorkSellsNoneOfSeveral(t *testing.T) {
	backendtest.Long(t)
	t.Parallel()
	s, b := newShopOfTwo(t)
	o := orderOf(stock.Item{Product: product, Quantity: 1}, stock.Item{Product: second, Quantity: 1})
	o.TTL, o.Work = 2*time.Second, time.Minute
	defer breakLock(t, s, "v9", b)() // that of the first product only
	receipt, err := s.Decrease(context.Background(), "v9", o)
	require.ErrorIs(t, err, lock.ErrLost)
	assert.True(t, receipt.Lease.Lost)
	assert.Equal(t, [2]int64{100, 10}, leftOfBoth(t, s))
	_, err = s.Decrease(context.Background(), "v9", orderOf(stock.Item{Product: second, Quantity: 1}))
	require.NoError(t, err, "and the other lock is free")
}

// The writes are one MULTI: when its reply is lost, all were written or none, and the outcome is unknown.
func TestAWriteOfSeveralInDoubt(t *testing.T) {
	s, b := newShopOfTwo(t)
	b.Redis.AddHook(loseReply{})
	_, err := s.Decrease(context.Background(), "v9", orderOf(stock.Item{Product: product, Quantity: 1},
		stock.Item{Product: second, Quantity: 1}))
	require.ErrorIs(t, err, stock.ErrUnknown)
	assert.Equal(t, [2]int64{99, 9}, leftOfBoth(t, s))
}

// loseReply loses the reply to every MULTI.
type loseReply struct{}

func (loseReply) DialHook(next redis.DialHook) redis.DialHook          { return next }
func (loseReply) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }
func (loseReply) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if err := next(ctx, cmds); err != nil || cmds[0].Name() != "multi" {
			return err
		}
		return os.ErrDeadlineExceeded
	}
}

func TestSeveralProductsWhereOneIsSold(t *testing.T) {
	eachRung(t, func(t *testing.T, r Status, s *Shop, _ lock.Backends) {
		if r.Number == "v9" || r.Number == "v9-naive" {
			return
		}
		_, err := s.Decrease(context.Background(), r.Number, orderOf(stock.Item{Product: product, Quantity: 1}))
		require.ErrorIs(t, err, ErrOneProduct)
		assert.EqualValues(t, 100, left(t, s))
	})
}

// On a cluster the products must be in one slot. Others are refused before any lock is acquired, as /rungs notes.
func TestSeveralProductsOnACluster(t *testing.T) {
	t.Parallel()
	const sameSlot = "15772"
	s, _ := newShop(t, &backendtest.Server{URL: backendtest.StartCluster(t)})
	for _, other := range []string{second, sameSlot} {
		require.NoError(t, s.shelf.Put(context.Background(), other, 10))
	}
	for _, id := range []string{"v9", "v9-naive"} {
		needs := "on Cluster " + id + " needs products of one slot"
		both := orderOf(stock.Item{Product: product, Quantity: 1}, stock.Item{Product: second, Quantity: 1})
		receipt, err := s.Decrease(context.Background(), id, both)
		require.EqualError(t, err, needs)
		assert.Nil(t, receipt.Lease)
		both.Items[1].Product = sameSlot
		_, err = s.Decrease(context.Background(), id, both)
		require.NoError(t, err)
		i := slices.IndexFunc(s.Rungs(), func(r Status) bool { return r.Number == id })
		assert.Equal(t, needs, s.Rungs()[i].Note)
	}
	assert.Equal(t, [2]int64{98, 10}, leftOfBoth(t, s))
}

// Many orders name two products in opposite orders: each unit is sold once, and equally many of both products.
func TestManyOrdersOfSeveral(t *testing.T) {
	s, _ := newShopOfTwo(t)
	items := []stock.Item{{Product: product, Quantity: 1}, {Product: second, Quantity: 1}}
	var mu sync.Mutex
	sold := map[string]map[int64]int{product: {}, second: {}}
	var orders sync.WaitGroup
	for i := range 30 {
		orders.Go(func() {
			receipt, err := s.Decrease(context.Background(), "v9", orderOf(items[i%2], items[1-i%2]))
			if errors.Is(err, stock.ErrSoldOut) {
				return
			}
			assert.NoError(t, err)
			mu.Lock()
			defer mu.Unlock()
			for _, item := range receipt.Items {
				for _, unit := range item.Units {
					sold[item.Product][unit]++
				}
			}
		})
	}
	orders.Wait()
	for of, units := range sold {
		assert.Len(t, units, 10, of)
		for unit, times := range units {
			assert.Equal(t, 1, times, "unit %d of %s", unit, of)
		}
	}
	assert.Equal(t, [2]int64{90, 0}, leftOfBoth(t, s))
}
