package stock

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"stockapi/internal/backend"
	"stockapi/internal/backend/backendtest"
)

func TestMain(m *testing.M) {
	backend.Silence()
	goleak.VerifyTestMain(m)
}

func order(fence int64, work func(context.Context)) Order {
	return Order{Product: "p", Quantity: 1, Fence: fence, MaxWait: 10 * time.Second,
		Work: func(ctx context.Context) error {
			if work != nil {
				work(ctx)
			}
			return nil
		}}
}

// newShelf returns a shelf with ten units.
func newShelf(t *testing.T, start func(testing.TB) *backendtest.Server) *Shelf {
	t.Helper()
	s := NewShelf(backendtest.Client(t, start(t)))
	require.NoError(t, s.Put(context.Background(), "p", 10))
	return s
}

func TestEveryKindSellsAndSellsOut(t *testing.T) {
	backendtest.Each(t, func(t *testing.T, start func(testing.TB) *backendtest.Server) {
		for _, kind := range []Kind{Naive, Fenced, WriteFenced, CAS, Atomic, Combined} {
			s := newShelf(t, start)
			sell := s.Seller(kind)
			for want := int64(9); want >= 0; want-- {
				left, err := sell(context.Background(), order(10-want, nil))
				require.NoError(t, err, kind)
				assert.Equal(t, want, left, kind)
			}
			left, err := sell(context.Background(), order(11, nil))
			require.ErrorIs(t, err, ErrSoldOut, kind)
			assert.Zero(t, left)

			require.NoError(t, s.Remove(context.Background(), "p"))
			_, err = sell(context.Background(), order(13, nil))
			require.ErrorIs(t, err, ErrNoProduct, kind)
			for _, key := range s.rdb.Keys(context.Background(), "*").Val() {
				assert.Equal(t, fenceKey("p"), key, kind)
				assert.Positive(t, s.rdb.PTTL(context.Background(), key).Val(), "%s: a key has no TTL", kind)
			}
		}
	})
}

func TestWorkThatIsCancelledSellsNothing(t *testing.T) {
	for _, kind := range []Kind{Naive, Fenced, WriteFenced, CAS, Atomic, Combined} {
		s := newShelf(t, backendtest.StartEmbedded)
		ctx, cancel := context.WithCancel(context.Background())
		_, err := s.Seller(kind)(ctx, order(1, func(context.Context) { cancel() }))
		require.ErrorIs(t, err, context.Canceled, kind)
		left, err := s.Left(context.Background(), "p")
		require.NoError(t, err)
		assert.EqualValues(t, 10, left, kind)
	}
}

// A read that fails because the lease has ended returns that cause, not the error of the connection.
func TestAReadWithoutALeaseReturnsTheCause(t *testing.T) {
	ended := errors.New("the lease has ended")
	for _, kind := range []Kind{Naive, Fenced, WriteFenced, CAS, Combined} {
		s := newShelf(t, backendtest.StartEmbedded)
		ctx, cancel := context.WithCancelCause(context.Background())
		cancel(ended)
		_, err := s.Seller(kind)(ctx, order(1, nil))
		require.ErrorIs(t, err, ended, kind)
		_, err = s.Look(ctx, order(1, nil))
		require.ErrorIs(t, err, ended, kind)
		_, err = s.SellAll(ctx, []Item{{"p", 1}}, order(1, nil).Work)
		require.ErrorIs(t, err, ended, kind)
	}
}

// An older holder is refused when it reads after a newer one, and when it writes after a newer one has read: it never
// sells the units of the newer one. Nor does one whose lock server has forgotten the tokens and counts from one
// (pitfall 23).
func TestFencedRefusesTheOlderToken(t *testing.T) {
	s := newShelf(t, backendtest.StartEmbedded)
	sell := s.Seller(Fenced)
	newer := func(context.Context) {
		left, err := sell(context.Background(), order(2, nil))
		assert.NoError(t, err)
		assert.EqualValues(t, 9, left)
	}
	_, err := sell(context.Background(), order(1, newer)) // paused between its read and its write
	require.ErrorIs(t, err, ErrStale)
	assert.EqualValues(t, 2, Newest(err))
	_, err = sell(context.Background(), order(1, nil))
	require.ErrorIs(t, err, ErrStale, "on reading")
	assert.EqualValues(t, 2, Newest(err))
	left, err := s.Left(context.Background(), "p")
	require.NoError(t, err)
	assert.EqualValues(t, 9, left, "one sale, one unit")
}

// A fence that is checked on writing only sells a unit twice: both read, then both write, the older token first.
func TestWriteFencedSellsAUnitTwice(t *testing.T) {
	for kind, twice := range map[Kind]bool{WriteFenced: true, Fenced: false} {
		s := newShelf(t, backendtest.StartEmbedded)
		sell := s.Seller(kind)
		bothRead, olderWrote := make(chan struct{}), make(chan struct{})
		var newer sync.WaitGroup
		var newerLeft int64
		olderLeft, olderErr := sell(context.Background(), order(1, func(context.Context) {
			newer.Go(func() {
				newerLeft, _ = sell(context.Background(), order(2, func(context.Context) {
					bothRead <- struct{}{}
					<-olderWrote
				}))
			})
			<-bothRead
		}))
		close(olderWrote)
		newer.Wait()
		assert.Equal(t, twice, olderErr == nil && olderLeft == newerLeft, kind)
	}
}

// Under concurrent orders the shelves that need no lock sell each unit once, and sell out.
func TestWithoutALockEachUnitIsSoldOnce(t *testing.T) {
	backendtest.Each(t, func(t *testing.T, start func(testing.TB) *backendtest.Server) {
		for _, kind := range []Kind{CAS, Atomic} {
			sell := newShelf(t, start).Seller(kind)
			var mu sync.Mutex
			sold := map[int64]int{}
			var buyers sync.WaitGroup
			for range 30 {
				buyers.Go(func() {
					left, err := sell(context.Background(), order(0, nil))
					if err != nil {
						assert.ErrorIs(t, err, ErrSoldOut)
						return
					}
					mu.Lock()
					defer mu.Unlock()
					sold[left+1]++
				})
			}
			buyers.Wait()
			assert.Len(t, sold, 10, kind)
			for unit, times := range sold {
				assert.Equal(t, 1, times, "%s: unit %d", kind, unit)
			}
		}
	})
}

func TestCASGivesUpWhenItsPatienceEnds(t *testing.T) {
	s := newShelf(t, backendtest.StartEmbedded)
	o := order(0, func(context.Context) { assert.NoError(t, s.Put(context.Background(), "p", 11)) })
	o.MaxWait = 0
	_, err := s.Seller(CAS)(context.Background(), o)
	require.ErrorIs(t, err, ErrContended)
}

// Writes of others that restore the value are no reason to retry: the sale is the same as one that began after them.
// Their writes are kept.
func TestCASComparesTheValueAlone(t *testing.T) {
	s := newShelf(t, backendtest.StartEmbedded)
	times := 0
	left, err := s.Seller(CAS)(context.Background(), order(0, func(ctx context.Context) {
		times++
		require.NoError(t, s.Put(ctx, "p", 3))
		require.NoError(t, s.Put(ctx, "p", 10))
	}))
	require.NoError(t, err)
	assert.EqualValues(t, 9, left)
	assert.Equal(t, 1, times)
}

// With an order at work per connection of the pool, others still get one: no kind of shelf holds a connection during
// the work.
func TestNoConnectionIsHeldDuringTheWork(t *testing.T) {
	const pool = 4
	backendtest.Each(t, func(t *testing.T, start func(testing.TB) *backendtest.Server) {
		client, err := backend.Open(start(t).URL, backend.Options{Timeout: 2 * time.Second, PoolSize: pool})
		require.NoError(t, err)
		defer client.Close()
		s := NewShelf(client)
		ways := s.ways()
		ways["look"] = s.Look
		for kind, sell := range ways {
			require.NoError(t, s.Put(t.Context(), "p", 10))
			token := time.Now().UnixMicro()
			var orders sync.WaitGroup
			working, end := make(chan struct{}), make(chan struct{})
			for range pool {
				orders.Go(func() {
					var once sync.Once
					at := func() { once.Do(func() { working <- struct{}{} }) }
					_, err := sell(context.Background(), order(token, func(context.Context) {
						at()
						<-end
					}))
					assert.NoError(t, err, kind)
					at()
				})
			}
			for range pool {
				<-working
			}
			assert.NoError(t, client.Ping(t.Context()).Err(), kind)
			close(end)
			orders.Wait()
		}
	})
}

func TestStockThatWasPutForATimeLeavesNothingForGood(t *testing.T) {
	backendtest.Each(t, func(t *testing.T, start func(testing.TB) *backendtest.Server) {
		for _, kind := range []Kind{Naive, Fenced, WriteFenced, CAS, Atomic, Combined} {
			s, ctx := newShelf(t, start), context.Background()
			ends := func(when string, most time.Duration) {
				for _, key := range s.rdb.Keys(ctx, "*").Val() {
					ttl := s.rdb.PTTL(ctx, key).Val()
					assert.Positive(t, ttl, "%s of %s, %s", key, kind, when)
					assert.LessOrEqual(t, ttl, most+fenceTTL, "%s of %s, %s", key, kind, when)
				}
			}
			_, err := s.Seller(kind)(ctx, order(1, nil)) // its token has no TTL
			require.NoError(t, err)
			require.NoError(t, s.PutFor(ctx, "p", 10, time.Hour))
			ends("after it was put", time.Hour)
			_, err = s.Seller(kind)(ctx, order(3, nil))
			require.NoError(t, err, kind)
			ends("after a sale", time.Hour)
			require.NoError(t, s.rdb.Del(ctx, fenceKey("p")).Err())
			_, err = s.Seller(kind)(ctx, order(4, nil))
			require.NoError(t, err, kind)
			ends("after the first sale under a token", time.Hour)

			require.NoError(t, s.Put(ctx, "p", 10))
			for _, key := range s.rdb.Keys(ctx, "*").Val() {
				assert.Negative(t, s.rdb.PTTL(ctx, key).Val(), "%s of %s is there for good again", key, kind)
			}
		}
	})
}

func TestShopThatOpensForATimeLeavesNothingForGood(t *testing.T) {
	s := NewShelf(backendtest.Client(t, backendtest.StartEmbedded(t)))
	_, err := s.Open(t.Context(), "p", 10, time.Hour)
	require.NoError(t, err)
	assert.Positive(t, s.rdb.PTTL(t.Context(), Key("p")).Val())
}

// No kind of sale in flight writes to a product that was removed.
func TestASaleUnderWayBringsNothingBack(t *testing.T) {
	for _, kind := range []Kind{Naive, Fenced, WriteFenced, CAS, Atomic, Combined} {
		s := newShelf(t, backendtest.StartEmbedded)
		require.NoError(t, s.Put(t.Context(), "p", 10))
		o := order(1, nil)
		o.Work = func(context.Context) error { return s.Remove(context.Background(), "p") }
		_, err := s.Seller(kind)(t.Context(), o)
		require.ErrorIs(t, err, ErrNoProduct, kind)
		_, err = s.Left(t.Context(), "p")
		require.ErrorIs(t, err, ErrNoProduct, kind)
	}
}
