package stock

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/backend/backendtest"
)

// newSharded returns a shelf with so many units of p in shards, and their layout.
func newSharded(t *testing.T, s *Shelf, quantity int64, shards int) *Layout {
	t.Helper()
	require.NoError(t, s.PutSharded(t.Context(), "p", quantity, shards, 0))
	l, err := s.Layout(t.Context(), "p")
	require.NoError(t, err)
	require.NotNil(t, l)
	return l
}

// keysOf returns all keys of a Redis, sorted.
func keysOf(t *testing.T, s *Shelf) []string {
	t.Helper()
	keys, err := s.rdb.Keys(t.Context(), "*").Result()
	require.NoError(t, err)
	slices.Sort(keys)
	return keys
}

func TestEachUnitIsInOneShard(t *testing.T) {
	for _, quantity := range []int64{0, 1, 7, 8, 100, 1_000_000_000} {
		l := &Layout{Product: "p", Shards: 8, Quantity: quantity}
		assert.Zero(t, l.Below(0))
		for i := range l.Shards {
			assert.Equal(t, l.Below(i+1), l.Below(i)+l.size(i))
			assert.InDelta(t, quantity/8, l.size(i), 1)
		}
		assert.Equal(t, quantity, l.Below(8))
	}
}

// slot returns the slot of a key without a hash tag, as Redis Cluster computes it.
func slot(key string) uint16 {
	var crc uint16
	for _, b := range []byte(key) {
		crc ^= uint16(b) << 8
		for range 8 {
			high := crc & 0x8000
			crc <<= 1
			if high != 0 {
				crc ^= 0x1021
			}
		}
	}
	return crc % 16384
}

func TestShardsAreInDifferentSlots(t *testing.T) {
	assert.EqualValues(t, 12739, slot("123456789"), "as in the specification of Redis Cluster, modulo its slots")
	l := &Layout{Product: "10000", Shards: MaxShards, id: "k7mz2qpd4a"}
	seen := map[uint16]int{}
	for i := range l.Shards {
		at := slot(Key(l.Name(i)))
		assert.NotContains(t, seen, at)
		seen[at] = i
	}
}

func TestPuttingShards(t *testing.T) {
	backendtest.Each(t, func(t *testing.T, start func(testing.TB) *backendtest.Server) {
		s := newShelf(t, start)
		ctx := t.Context()
		first := newSharded(t, s, 100, 8)
		_, err := s.Left(ctx, "p")
		require.ErrorIs(t, err, ErrNoProduct, "it has no stock of its own")
		sum, l, left, err := s.Count(ctx, "p")
		require.NoError(t, err)
		assert.True(t, first.Same(l))
		assert.EqualValues(t, 100, sum)
		assert.Equal(t, []int64{13, 13, 13, 13, 12, 12, 12, 12}, left)

		second := newSharded(t, s, 3, 4)
		assert.False(t, first.Same(second))
		_, err = s.LeftOfEach(ctx, first)
		require.ErrorIs(t, err, ErrNoProduct)
		sum, _, left, err = s.Count(ctx, "p")
		require.NoError(t, err)
		assert.EqualValues(t, 3, sum)
		assert.Equal(t, []int64{1, 1, 1, 0}, left)
		assert.Len(t, keysOf(t, s), 4+2, "four shards, their record, and the list of layouts")

		require.NoError(t, s.Put(ctx, "p", 10))
		assert.Equal(t, []string{Key("p")}, keysOf(t, s))
		sum, l, _, err = s.Count(ctx, "p")
		require.NoError(t, err)
		assert.EqualValues(t, 10, sum)
		assert.Nil(t, l)

		newSharded(t, s, 100, 8)
		require.NoError(t, s.Remove(ctx, "p"))
		assert.Empty(t, keysOf(t, s))
		_, _, _, err = s.Count(ctx, "p")
		require.ErrorIs(t, err, ErrNoProduct)
	})
}

func TestShardsThatWerePutForATimeLeaveNothingForGood(t *testing.T) {
	backendtest.Each(t, func(t *testing.T, start func(testing.TB) *backendtest.Server) {
		s := newShelf(t, start)
		require.NoError(t, s.PutSharded(t.Context(), "p", 100, 8, time.Hour))
		l, err := s.Layout(t.Context(), "p")
		require.NoError(t, err)
		o := order(1, nil)
		o.Product = l.Name(3)
		_, err = s.Seller(Fenced)(t.Context(), o)
		require.NoError(t, err)
		for _, key := range keysOf(t, s) {
			assert.Positive(t, s.rdb.PTTL(t.Context(), key).Val(), key)
		}
	})
}

// An instance that starts puts its product there only if it is not there, with shards or without.
func TestAShopOpensWithTheShardsThatAreThere(t *testing.T) {
	s := newShelf(t, backendtest.StartEmbedded)
	newSharded(t, s, 100, 8)
	created, err := s.Open(t.Context(), "p", 5, 0)
	require.NoError(t, err)
	assert.False(t, created)
	_, err = s.Left(t.Context(), "p")
	require.ErrorIs(t, err, ErrNoProduct)
}

// Whatever a sale that is under way read, a product or a shard, it writes nothing once the product was put anew, and
// what was put stays as it is.
func TestASaleUnderWayCannotUndoAPut(t *testing.T) {
	puts := map[string]func(s *Shelf) error{
		"shards": func(s *Shelf) error { return s.PutSharded(context.Background(), "p", 50, 4, 0) },
		"stock":  func(s *Shelf) error { return s.Put(context.Background(), "p", 50) },
		"gone":   func(s *Shelf) error { return s.Remove(context.Background(), "p") },
	}
	for name, put := range puts {
		for _, kind := range []Kind{Naive, Fenced, WriteFenced, CAS, Atomic, Combined} {
			s := newShelf(t, backendtest.StartEmbedded)
			for _, from := range []string{"p", "a shard"} {
				o := order(1, nil)
				if from == "p" {
					require.NoError(t, s.Put(t.Context(), "p", 10))
					if name == "stock" {
						continue // as on a shelf without shards: the naive kind undoes it
					}
				} else {
					o.Product = newSharded(t, s, 10, 2).Name(0)
				}
				o.Work = func(context.Context) error { return put(s) }
				_, err := s.Seller(kind)(t.Context(), o)
				if name != "gone" {
					assert.Error(t, err, "%s, %s from %s", kind, name, from)
					sum, _, _, counted := s.Count(t.Context(), "p")
					require.NoError(t, counted)
					assert.EqualValues(t, 50, sum, "%s, %s from %s", kind, name, from)
				} else {
					assert.ErrorIs(t, err, ErrNoProduct, "%s, %s from %s", kind, name, from)
				}
				assert.NotContains(t, keysOf(t, s), Key(o.Product), "%s, %s from %s", kind, name, from)
			}
		}
	}
}

// What a Put has left that ended in the middle, the next one removes, of whichever kind.
func TestAPutThatEndedInTheMiddle(t *testing.T) {
	backendtest.Each(t, func(t *testing.T, start func(testing.TB) *backendtest.Server) {
		for _, next := range []func(s *Shelf) error{
			func(s *Shelf) error { return s.PutSharded(t.Context(), "p", 10, 4, 0) },
			func(s *Shelf) error { return s.Put(t.Context(), "p", 10) },
			func(s *Shelf) error { return s.Remove(t.Context(), "p") },
		} {
			s := newShelf(t, start)
			live := newSharded(t, s, 100, 8)
			cut := &Layout{Product: "p", Shards: 3, Quantity: 9, id: "abc"}
			require.NoError(t, s.fill(t.Context(), cut, 0))
			sum, l, _, err := s.Count(t.Context(), "p")
			require.NoError(t, err)
			assert.EqualValues(t, 100, sum, "it has changed nothing yet")
			assert.True(t, live.Same(l))

			require.NoError(t, next(s))
			for _, key := range keysOf(t, s) {
				assert.NotContains(t, key, "abc")
				assert.NotContains(t, key, live.id)
			}
		}
	})
}

// Of two Puts at once the later one holds, and the earlier one leaves nothing behind.
func TestAPutThatIsOvertaken(t *testing.T) {
	backendtest.Each(t, func(t *testing.T, start func(testing.TB) *backendtest.Server) {
		s := newShelf(t, start)
		slow := &Layout{Product: "p", Shards: 3, Quantity: 9, id: "abc"}
		require.NoError(t, s.fill(t.Context(), slow, 0))
		fast := newSharded(t, s, 100, 8)
		err := s.put(t.Context(), "p", "", slow.text(), 0)
		require.Error(t, err)
		assert.True(t, redis.HasErrorPrefix(err, "OVERTAKEN"), err)
		sum, l, _, err := s.Count(t.Context(), "p")
		require.NoError(t, err)
		assert.EqualValues(t, 100, sum)
		assert.True(t, fast.Same(l))
	})
}

func TestCollecting(t *testing.T) {
	backendtest.Each(t, func(t *testing.T, start func(testing.TB) *backendtest.Server) {
		s := newShelf(t, start)
		l := newSharded(t, s, 10, 4) // 3, 3, 2, 2
		units, left, err := s.Collect(t.Context(), l, 5, noWork)
		require.NoError(t, err)
		assert.ElementsMatch(t, []int64{1, 2, 3, 5, 6}, units)
		assert.EqualValues(t, 5, left)
		_, left, err = s.Collect(t.Context(), l, 6, noWork)
		require.ErrorIs(t, err, ErrSoldOut)
		assert.EqualValues(t, 5, left)
		units, left, err = s.Collect(t.Context(), l, 5, noWork)
		require.NoError(t, err)
		assert.ElementsMatch(t, []int64{4, 7, 8, 9, 10}, units)
		assert.Zero(t, left)
	})
}

// Where there is no transaction for all shards, a refused write undoes those before it, unless the locks are lost.
func TestASecondShardThatRefusesUndoesTheFirst(t *testing.T) {
	s := newShelf(t, backendtest.StartEmbedded)
	l := newSharded(t, s, 10, 2)
	shares := []share{{Key(l.Name(0)), 5, 2}, {Key(l.Name(1)), 5, 4}}
	require.NoError(t, s.rdb.Del(t.Context(), shares[1].key).Err())
	require.ErrorIs(t, s.writeEach(t.Context(), shares), redis.Nil)
	assert.Equal(t, "5", s.rdb.Get(t.Context(), shares[0].key).Val())

	lost, lose := context.WithCancel(t.Context())
	lose()
	require.ErrorIs(t, s.writeEach(lost, shares), ErrUnknown)
	assert.Equal(t, "2", s.rdb.Get(t.Context(), shares[0].key).Val())
}

// On a cluster the shards are on several nodes. All that is done with them works there too.
func TestShardsOnACluster(t *testing.T) {
	c := backendtest.StartShards(t)
	s := NewShelf(backendtest.Client(t, &backendtest.Server{URL: c.URL}))
	require.NoError(t, s.Put(t.Context(), "p", 10))
	first := newSharded(t, s, 10, 4)
	units, left, err := s.Collect(t.Context(), first, 7, noWork)
	require.NoError(t, err)
	assert.Len(t, units, 7)
	assert.EqualValues(t, 3, left)
	newSharded(t, s, 100, 8)
	_, err = s.LeftOfEach(t.Context(), first)
	require.ErrorIs(t, err, ErrNoProduct)
	require.NoError(t, s.Remove(t.Context(), "p"))
	_, _, _, err = s.Count(t.Context(), "p")
	require.ErrorIs(t, err, ErrNoProduct)
}

func TestARecordThatIsNone(t *testing.T) {
	s := newShelf(t, backendtest.StartEmbedded)
	for _, text := range []string{"", "8", "8 100", "1 100 a", "33 100 a", "8 -1 a", "8 100 a b", "many"} {
		require.NoError(t, s.rdb.Set(t.Context(), recordKey("p"), text, 0).Err())
		_, err := s.Layout(t.Context(), "p")
		require.ErrorIs(t, err, ErrCorrupt, text)
	}
	require.NoError(t, s.rdb.Del(t.Context(), recordKey("p")).Err())
	require.NoError(t, s.rdb.RPush(t.Context(), recordKey("p"), "8").Err())
	_, err := s.Layout(t.Context(), "p")
	require.ErrorIs(t, err, ErrCorrupt)
	assert.True(t, IsKey(recordKey("p")) && IsKey(layoutsKey("p")), "they belong to the stock")
	assert.True(t, strings.HasPrefix(recordKey("p"), "{"+Key("p")+"}"), "in one slot")
}

// Of several products one was removed while the order was at work: what was sold of the other is known to nobody.
func TestSeveralProductsOfWhichOneIsGone(t *testing.T) {
	backendtest.Each(t, func(t *testing.T, start func(testing.TB) *backendtest.Server) {
		s := newShelf(t, start)
		require.NoError(t, s.Put(t.Context(), "q", 10))
		items := []Item{{"p", 1}, {"q", 1}}
		_, err := s.SellAll(t.Context(), items, func(context.Context) error { return s.Remove(context.Background(), "q") })
		require.ErrorIs(t, err, ErrUnknown)
		require.NoError(t, s.Put(t.Context(), "q", 10))
		_, err = s.SellAll(t.Context(), items, func(context.Context) error {
			return errors.Join(s.Remove(context.Background(), "p"), s.Remove(context.Background(), "q"))
		})
		require.ErrorIs(t, err, ErrNoProduct)
		assert.Empty(t, slices.DeleteFunc(keysOf(t, s), func(key string) bool { return strings.HasSuffix(key, ":fence") }))
	})
}
