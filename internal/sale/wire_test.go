package sale

import (
	"context"
	"errors"
	"fmt"
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

// blocksItself are the rungs that cannot undo an acquire whose reply was lost, because they do not know their own key,
// or follow a source that does not check. Their key stays for its TTL, or for ever.
var blocksItself = []string{"v1", "v1.5", "v2", "v3", "v4", "v4.5", "v5-as-printed"}

// onRedis returns the rungs whose locks and stock are in Redis alone.
func onRedis() (rungs []lock.Rung) {
	for _, r := range lock.Ladder() {
		if !slices.ContainsFunc(r.Needs, func(need string) bool {
			return need != lock.NeedRedis &&
				need != lock.NeedRedlock
		}) {
			rungs = append(rungs, r)
		}
	}
	return rungs
}

// No client sends a command again whose reply is lost: it may have been executed. So an order takes at most one unit,
// is not refused by its own first try, and reports its true outcome.
func TestALostReplyIsNeverRepeated(t *testing.T) {
	backendtest.Long(t)
	backendtest.Require(t)
	for name, behind := range map[string]func(t *testing.T) (string, *backendtest.Wire){
		"cluster": func(t *testing.T) (string, *backendtest.Wire) {
			c := backendtest.StartShards(t)
			return c.URL, c.Wire
		},
		"sentinel": func(t *testing.T) (string, *backendtest.Wire) {
			w := backendtest.NewWire(t)
			return backendtest.StartSentinelBehind(t, w), w
		},
		"single": func(t *testing.T) (string, *backendtest.Wire) {
			w := backendtest.NewWire(t)
			return backendtest.StartRedisBehind(t, w), w
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, wire := behind(t)
			s, b := newShop(t, &backendtest.Server{URL: url})
			for _, r := range onRedis() {
				t.Run(r.Number, func(t *testing.T) { loseEachReply(t, s, b, r, wire) })
			}
		})
	}
}

// loseEachReply sells once for each request of a sale, and each time loses the reply to another request.
func loseEachReply(t *testing.T, s *Shop, b lock.Backends, r lock.Rung, wire *backendtest.Wire) {
	if missing := b.Missing(r); missing != "" {
		t.Skip("needs " + missing)
	}
	restock(t, s, b, 10)
	shop, end := aLifeOf(s, b)
	for range 2 { // the first loads the scripts
		wire.LoseReply(0, false)
		require.NoError(t, sellSoon(shop, r))
	}
	requests := len(wire.Restore(t))
	end()
	require.Positive(t, requests)
	for n := 1; n <= requests; n++ {
		for _, refuse := range []bool{false, true} {
			restock(t, s, b, 10)
			s, end := aLifeOf(s, b)
			wire.LoseReply(n, refuse)
			receipt, err := s.Decrease(context.Background(), r.Number, hasty())
			sent := wire.Restore(t)
			require.GreaterOrEqual(t, len(sent), n)
			what := fmt.Sprintf("%s: reply %d of %d lost, refused after it: %v: %s: %v", r.Number, n, requests, refuse,
				sent[n-1], err)

			assert.Equal(t, 1, count(sent[n-1:], sent[n-1]), "sent again. %s", what)
			require.NotErrorIs(t, err, lock.ErrBusy, what)
			have := leftSoon(t, s)
			switch {
			case err == nil:
				assert.EqualValues(t, 9, have, what)
				assert.Equal(t, []int64{10}, receipt.Units, what)
			case isUnknown(err):
				assert.Contains(t, []int64{9, 10}, have, what)
			default:
				assert.EqualValues(t, 10, have, "reported as not sold. %s", what)
			}
			if !refuse && !slices.Contains(blocksItself, r.Number) {
				assert.NoError(t, sellSoon(s, r), "the next one. %s", what)
			}
			end()
		}
	}
}

// aLifeOf returns the shop of another process over the same connections, and a function that ends the process: its
// sweeps end, and all later commands are those of the next one.
func aLifeOf(s *Shop, b lock.Backends) (*Shop, func()) {
	life, end := context.WithCancel(context.Background())
	b.Life, b.Background = life, new(sync.WaitGroup)
	return New(s.instance, lock.Ladder(), s.shelf, b, s.metrics, s.log), func() {
		end()
		b.Background.Wait()
	}
}

func isUnknown(err error) bool { return errors.Is(err, stock.ErrUnknown) }

// hasty is an order that does not wait.
func hasty() Order {
	o, wait := order(), time.Duration(0)
	o.Wait = &wait
	return o
}

// sellSoon sells one unit, for which it makes several tries: a node of Redlock may be late on a busy machine.
func sellSoon(s *Shop, r lock.Rung) (err error) {
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if _, err = s.Decrease(context.Background(), r.Number, hasty()); err == nil {
			return nil
		}
	}
	return err
}

// restock removes all locks of the product and sets its stock, once the servers can be reached: after many failed dials
// go-redis waits for a second.
func restock(t *testing.T, s *Shop, b lock.Backends, quantity int64) {
	t.Helper()
	require.Eventually(t, func() bool {
		_, err := b.Break(context.Background(), product)
		return err == nil && s.shelf.Put(context.Background(), product, quantity) == nil
	}, 20*time.Second, 10*time.Millisecond)
}

// leftSoon returns what is left, likewise.
func leftSoon(t *testing.T, s *Shop) (left int64) {
	t.Helper()
	require.Eventually(t, func() (ok bool) {
		var err error
		left, err = s.shelf.Left(context.Background(), product)
		return err == nil
	}, 20*time.Second, 10*time.Millisecond)
	return left
}

func count(all []string, one string) (n int) {
	for _, s := range all {
		if s == one {
			n++
		}
	}
	return n
}

// Slots move while the shop sells: first the old node redirects requests for a key to the new one (ASK), then the slot
// has moved (MOVED). Every rung sells on, one unit an order. If Redis cannot serve a request while the slot moves (a
// script with a missing key, TRYAGAIN, or a WATCH, which follows no ASK), the order is refused, and known not to be
// sold.
func TestASlotMovesWhileTheShopSells(t *testing.T) {
	t.Parallel()
	backendtest.Long(t)
	c := backendtest.StartShards(t)
	s, b := newShop(t, &backendtest.Server{URL: c.URL})
	all := slices.DeleteFunc(onRedis(), func(r lock.Rung) bool { return b.Missing(r) != "" })
	rungsOf := map[string][]lock.Rung{stock.Key(product): all}
	for _, r := range all {
		rungsOf[r.Key(product)] = append(rungsOf[r.Key(product)], r)
	}
	for key, rungs := range rungsOf {
		restock(t, s, b, 100)
		finish := c.Move(t, key)
		want := int64(100)
		for _, r := range rungs {
			_, err := s.Decrease(context.Background(), r.Number, hasty())
			if err == nil {
				want--
			} else {
				cannot := redis.IsTryAgainError(err) || r.Shelf == stock.CAS && errors.Is(err, stock.ErrContended)
				assert.True(t, cannot, "%s: ASK for %s: %v", r.Number, key, err)
			}
			assert.Equal(t, want, left(t, s), "%s: ASK for %s: %v", r.Number, key, err)
		}
		if key == stock.Key(product) {
			assert.Less(t, want, int64(90), "ASK is followed")
		}
		finish()
		for _, r := range rungs {
			_, err := s.Decrease(context.Background(), r.Number, order())
			require.NoError(t, err, "%s: MOVED for %s", r.Number, key)
			want--
			assert.Equal(t, want, left(t, s), "%s: MOVED for %s", r.Number, key)
		}
	}
}

// An order of v16 that has time waits until the slot has moved.
func TestCASWaitsForASlotThatMoves(t *testing.T) {
	backendtest.Long(t)
	c := backendtest.StartShards(t)
	s, _ := newShop(t, &backendtest.Server{URL: c.URL})
	finish := c.Move(t, stock.Key(product))
	sold := make(chan error, 1)
	c.Wire.LoseReply(0, false)
	go func() {
		o, wait := order(), time.Minute
		o.Wait = &wait
		_, err := s.Decrease(context.Background(), "v16", o)
		sold <- err
	}()
	require.Eventually(t, func() bool {
		return count(c.Wire.Requests(), "watch "+stock.Key(product)) > 8 ||
			len(sold) > 0
	},
		20*time.Second, time.Millisecond, "it tries again")
	finish()
	require.NoError(t, <-sold)
	assert.EqualValues(t, 99, left(t, s))
}

// Nor is a pipeline, though no rung sends one today.
func TestAPipelineWhoseReplyIsLostIsNotRepeated(t *testing.T) {
	t.Parallel()
	c := backendtest.StartShards(t)
	client := backendtest.Client(t, &backendtest.Server{URL: c.URL})
	ctx := context.Background()
	for n := 1; n <= 2; n++ {
		require.NoError(t, client.Set(ctx, "k", 0, 0).Err())
		c.Wire.LoseReply(n, false)
		_, err := client.Pipelined(ctx, func(p redis.Pipeliner) error {
			return errors.Join(p.IncrBy(ctx, "k", 1).Err(), p.IncrBy(ctx, "k", 10).Err())
		})
		require.Error(t, err)
		sent := c.Wire.Restore(t)
		assert.LessOrEqual(t, count(sent, "incrby k 1"), 1, "%v", sent)
		assert.LessOrEqual(t, count(sent, "incrby k 10"), 1, "%v", sent)
	}
}
