package sale

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/backend"
	"stockapi/internal/backend/backendtest"
	"stockapi/internal/lock"
	"stockapi/internal/stock"
)

// newPipelinedShop returns a shop whose stock and locks are behind one pipeline.
func newPipelinedShop(t *testing.T, url string) (*Shop, lock.Backends) {
	t.Helper()
	s, b := newShop(t, &backendtest.Server{URL: url})
	pipelined, err := backend.Pipelined(b.Redis)
	require.NoError(t, err)
	b.Redis = pipelined
	return New(s.instance, lock.Ladder(), stock.NewShelf(pipelined), b, s.metrics, s.log), b
}

// Over a pipeline too, a command whose reply is lost is not sent again.
func TestALostReplyIsNeverRepeatedOverAPipeline(t *testing.T) {
	backendtest.Require(t)
	w := backendtest.NewWire(t)
	s, b := newPipelinedShop(t, backendtest.StartRedisBehind(t, w))
	for _, r := range onRedis() {
		t.Run(r.Number, func(t *testing.T) { loseEachReply(t, s, b, r, w) })
	}
}

// When a pipeline breaks, every order without a reply has an unknown outcome. None is sold twice, and no command is
// sent twice.
func TestABrokenPipelineRepeatsNothing(t *testing.T) {
	backendtest.Require(t)
	const orders = 32
	w := backendtest.NewWire(t)
	s, b := newPipelinedShop(t, backendtest.StartRedisBehind(t, w))
	restock(t, s, b, 100)
	require.NoError(t, sellSoon(s, lock.Rung{Number: "v17"}), "which loads the script")
	for n := 1; n <= orders; n += 3 {
		restock(t, s, b, 100)
		w.LoseReply(n, false)
		receipts, errs := sellTogether(s, "v17", orders, hasty())
		sent := w.Restore(t)
		units := map[int64]bool{}
		unknown := 0
		for i, err := range errs {
			switch {
			case err == nil:
				assert.False(t, units[receipts[i].Units[0]], "unit %d was sold twice", receipts[i].Units[0])
				units[receipts[i].Units[0]] = true
			case isUnknown(err):
				unknown++
			}
		}
		taken := int(100 - leftSoon(t, s))
		assert.Positive(t, unknown, "reply %d was lost", n)
		assert.LessOrEqual(t, len(units), taken)
		assert.LessOrEqual(t, taken, len(units)+unknown)
		takes := 0
		for _, command := range sent {
			if strings.HasPrefix(command, "evalsha ") {
				takes++
			}
		}
		assert.LessOrEqual(t, takes, orders, "reply %d was lost", n)
	}
}

// sellTogether starts that many orders at once, and waits for all.
func sellTogether(s *Shop, rung string, orders int, o Order) ([]Receipt, []error) {
	receipts, errs := make([]Receipt, orders), make([]error, orders)
	var all sync.WaitGroup
	for i := range orders {
		all.Go(func() { receipts[i], errs[i] = s.Decrease(context.Background(), rung, o) })
	}
	all.Wait()
	return receipts, errs
}

// Locks exclude over one pipeline as over many connections.
func TestNoUnitIsSoldTwiceOverAPipeline(t *testing.T) {
	backendtest.Require(t)
	const orders = 24
	s, b := newPipelinedShop(t, backendtest.StartRedis(t).URL)
	o, wait := order(), time.Minute
	o.Wait = &wait
	for _, rung := range []string{"v4", "v5", "v5.5", "v7", "v8", "v9", "v10", "v11", "v15", "v16", "v17", "v18", "v19"} {
		t.Run(rung, func(t *testing.T) {
			restock(t, s, b, 100)
			receipts, errs := sellTogether(s, rung, orders, o)
			units := map[int64]bool{}
			for i, err := range errs {
				require.NoError(t, err)
				units[receipts[i].Units[0]] = true
			}
			assert.Len(t, units, orders)
			assert.EqualValues(t, 100-orders, left(t, s))
		})
	}
}

// The commands of a cluster go to several servers, so they are not pipelined.
func TestAClusterIsNotPipelined(t *testing.T) {
	client, err := backend.Open("redis://127.0.0.1:1?cluster=true", backend.Options{Timeout: time.Second, PoolSize: 1})
	require.NoError(t, err)
	defer client.Close()
	_, err = backend.Pipelined(client)
	assert.ErrorIs(t, err, backend.ErrNotPipelined)
}
