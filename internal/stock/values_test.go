package stock

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/backend/backendtest"
)

// ways returns all ways to sell one unit of "p".
func (s *Shelf) ways() map[Kind]Sell {
	all := map[Kind]Sell{"several": func(ctx context.Context, o Order) (int64, error) {
		left, err := s.SellAll(ctx, []Item{{Product: o.Product, Quantity: o.Quantity}}, o.Work)
		return append(left, 0)[0], err
	}}
	for _, kind := range []Kind{Naive, Fenced, WriteFenced, CAS, Atomic, Combined} {
		all[kind] = s.Seller(kind)
	}
	return all
}

// Every shelf accepts the same numbers of units, and sells the same of them.
func TestEveryShelfReadsTheSameNumbers(t *testing.T) {
	values := map[string]error{
		"10": nil, "1": nil, "9007199254740991": nil,
		"0": ErrSoldOut, "-1": ErrSoldOut, "-5": ErrSoldOut, "-9007199254740991": ErrSoldOut,
	}
	for _, value := range []string{"", " ", " 5", "5 ", "5\n", "5\x00", "+5", "-0", "-", "05", "-05", "5.0", "12.5", ".5",
		"1e3", "1E3",
		"0x10", "1_000", "1,000", "inf", "-inf", "Infinity", "nan", "-nan", "true", "many", "９", "9007199254740992",
		"-9007199254740992", "9007199254740993", "9223372036854775807", "-9223372036854775808", "9223372036854775808",
		"1" + string(make([]byte, 3)), "99999999999999999999999999"} {
		values[value] = ErrCorrupt
	}
	backendtest.Each(t, func(t *testing.T, start func(testing.TB) *backendtest.Server) {
		s := newShelf(t, start)
		for value, want := range values {
			for kind, sell := range s.ways() {
				ctx := context.Background()
				require.NoError(t, s.rdb.Set(ctx, Key("p"), value, 0).Err())
				left, err := sell(ctx, order(1, nil))
				now := s.rdb.Get(ctx, Key("p")).Val()
				if want != nil {
					assert.ErrorIs(t, err, want, "%q %s", value, kind)
					assert.Equal(t, value, now, "%q %s: nothing was sold", value, kind)
					continue
				}
				require.NoError(t, err, "%q %s", value, kind)
				before, err := parse(t.Context(), "p", value, nil)
				require.NoError(t, err)
				assert.Equal(t, before-1, left, "%q %s", value, kind)
				after, err := parse(t.Context(), "p", now, nil)
				require.NoError(t, err)
				assert.Equal(t, before-1, after, "%q %s", value, kind)
			}
		}
	})
}

// A refusal reports the stock, on every shelf alike.
func TestEveryShelfTellsWhatIsLeft(t *testing.T) {
	s := newShelf(t, backendtest.StartEmbedded)
	require.NoError(t, s.Put(t.Context(), "p", -3))
	for kind, sell := range s.ways() {
		left, err := sell(t.Context(), order(1, nil))
		require.ErrorContains(t, err, "sold out: -3 left", kind)
		if kind != "several" {
			assert.EqualValues(t, -3, left, kind)
		}
	}
}

// A key of another type is no stock, and no fence.
func TestEveryShelfKnowsAKeyOfAnotherType(t *testing.T) {
	backendtest.Each(t, func(t *testing.T, start func(testing.TB) *backendtest.Server) {
		s := newShelf(t, start)
		ctx := t.Context()
		require.NoError(t, s.rdb.Del(ctx, Key("p")).Err())
		require.NoError(t, s.rdb.RPush(ctx, Key("p"), 1).Err())
		for kind, sell := range s.ways() {
			_, err := sell(ctx, order(1, nil))
			require.ErrorIs(t, err, ErrCorrupt, kind)
			require.ErrorContains(t, err, Key("p"), kind)
		}
		for _, spoil := range []func() error{
			func() error { return s.rdb.Set(ctx, fenceKey("p"), "many", 0).Err() },
			func() error { return s.rdb.Set(ctx, fenceKey("p"), "inf", 0).Err() },
			func() error { return s.rdb.RPush(ctx, fenceKey("p"), 1).Err() },
		} {
			require.NoError(t, s.Put(ctx, "p", 10), "whatever the keys held")
			require.NoError(t, spoil())
			for _, kind := range []Kind{Fenced, WriteFenced} {
				_, err := s.Seller(kind)(ctx, order(1, nil))
				require.ErrorIs(t, err, ErrCorrupt, kind)
				require.ErrorContains(t, err, fenceKey("p"), kind)
				require.ErrorContains(t, err, "putting the stock again resets it", kind)
			}
			require.NoError(t, s.Put(ctx, "p", 10))
			_, err := s.Seller(Fenced)(ctx, order(1, nil))
			require.NoError(t, err)
			require.NoError(t, s.rdb.Del(ctx, fenceKey("p")).Err())
		}
	})
}

// A stock with a TTL keeps it after a sale.
func TestASaleKeepsTheTTLOfTheStock(t *testing.T) {
	backendtest.Each(t, func(t *testing.T, start func(testing.TB) *backendtest.Server) {
		s := newShelf(t, start)
		ctx := context.Background()
		for kind, sell := range s.ways() {
			require.NoError(t, s.rdb.Set(ctx, Key("p"), 10, time.Hour).Err())
			_, err := sell(ctx, order(1, nil))
			require.NoError(t, err, kind)
			ttl := s.rdb.PTTL(ctx, Key("p")).Val()
			assert.Greater(t, ttl, 50*time.Minute, kind)
			assert.LessOrEqual(t, ttl, time.Hour, kind)
		}
	})
}

// A stock that is put, or removed and put back, during a sale is not overwritten by it if the shelf can detect that:
// with a fencing token, and with compare and set. So can the write-only exhibit, once it has seen a token.
func TestAStockThatIsPutDuringASaleStays(t *testing.T) {
	backendtest.Each(t, func(t *testing.T, start func(testing.TB) *backendtest.Server) {
		for _, kind := range []Kind{Fenced, CAS} {
			for name, change := range map[string]func(s *Shelf, ctx context.Context) error{
				"put": func(s *Shelf, ctx context.Context) error { return s.Put(ctx, "p", 50) },
				"remove and put": func(s *Shelf, ctx context.Context) error {
					if err := s.Remove(ctx, "p"); err != nil {
						return err
					}
					return s.Put(ctx, "p", 50)
				},
				"remove and open": func(s *Shelf, ctx context.Context) error {
					if err := s.Remove(ctx, "p"); err != nil {
						return err
					}
					_, err := s.Open(ctx, "p", 50, 0)
					return err
				},
			} {
				s := newShelf(t, start)
				o := order(1000, func(ctx context.Context) { assert.NoError(t, change(s, ctx)) })
				o.MaxWait = 0
				_, err := s.Seller(kind)(context.Background(), o)
				require.ErrorIs(t, err, map[Kind]error{Fenced: ErrStale, CAS: ErrContended}[kind], "%s %s", kind, name)
				assert.EqualValues(t, 50, s.mustLeft(t), "%s %s", kind, name)

				left, err := s.Seller(kind)(context.Background(), order(2000, nil))
				require.NoError(t, err, "the next holder, %s %s", kind, name)
				assert.EqualValues(t, 49, left)
			}
		}
	})
}

func (s *Shelf) mustLeft(t *testing.T) int64 {
	t.Helper()
	left, err := s.Left(context.Background(), "p")
	require.NoError(t, err)
	return left
}

// The fence of a removed product expires a day later; that of one on the shelf does not.
func TestTheFenceEndsADayAfterItsProduct(t *testing.T) {
	backendtest.Each(t, func(t *testing.T, start func(testing.TB) *backendtest.Server) {
		s := newShelf(t, start)
		ctx := context.Background()
		require.NoError(t, s.Put(ctx, "p", 10))
		assert.Zero(t, s.rdb.Exists(ctx, fenceKey("p")).Val(), "no token was shown yet")
		_, err := s.Seller(Fenced)(ctx, order(7, nil))
		require.NoError(t, err)
		require.NoError(t, s.Remove(ctx, "p"))
		assert.Equal(t, "8", s.rdb.Get(ctx, fenceKey("p")).Val())
		assert.InDelta(t, 24*time.Hour, s.rdb.PTTL(ctx, fenceKey("p")).Val(), float64(10*time.Minute))
		require.NoError(t, s.Put(ctx, "p", 10))
		assert.EqualValues(t, -1, s.rdb.PTTL(ctx, fenceKey("p")).Val(), "it has no TTL")
	})
}
