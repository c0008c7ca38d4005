package sale

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/backend/backendtest"
	"stockapi/internal/lock"
	"stockapi/internal/stock"
	"stockapi/internal/trace"
)

// A receipt has the validity of the lease: at most a TTL less the drift. It has none if the lease does not expire, or
// the rung does not compute the expiry.
func TestAReceiptTellsHowLongItsLeaseWasValid(t *testing.T) {
	silent := []string{"v0", "v0.5", "v1", "v1.5", "v2", "v3", "v4", "v4.5", "v5", "v5-as-printed", "v12-naive",
		"v12-session", "v16", "v17"}
	eachRung(t, func(t *testing.T, r Status, s *Shop, _ lock.Backends) {
		receipt, err := s.Decrease(context.Background(), r.Number, order())
		require.NoError(t, err)
		for _, number := range silent {
			if r.Number == number {
				assert.True(t, receipt.Lease == nil || receipt.Lease.ValidMS == nil)
				return
			}
		}
		require.NotNil(t, receipt.Lease.ValidMS)
		assert.Positive(t, *receipt.Lease.ValidMS)
		assert.Less(t, *receipt.Lease.ValidMS, milliseconds(order().TTL*96/100), "less the drift")
	})
}

// The article's example: of a lease of 10 s, 3 s were spent acquiring, so it is valid for 7 s, less the drift.
func TestTheTimeSpentAcquiringIsNotValid(t *testing.T) {
	backendtest.Long(t)
	t.Parallel()
	server := backendtest.StartEmbedded(t)
	faults := new(trace.Injector)
	observer := trace.Observer{Names: lock.ScriptNames(), Faults: faults}
	slow := backendtest.Client(t, server, observer.Redis("node"))
	for id, acquire := range map[string]string{"v5.5": "set/lock", "v6": "set/lock", "v7": "eval:acquire-reentrant"} {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			_, b := newShop(t, server)
			b.Redis, b.Redlock = slow, []redis.UniversalClient{slow}
			b.RedlockTimeout = 5 * time.Second // a node of v6 may take as long
			s := New("a", lock.Ladder(), stock.NewShelf(slow), b, NewMetrics("a"), slog.New(slog.DiscardHandler))
			hold, err := trace.ParseFaults("hold@after:" + acquire)
			require.NoError(t, err)
			go func() {
				for !faults.Release(id, 3*time.Second) {
					time.Sleep(time.Millisecond)
				}
			}()
			o := order()
			o.TTL = 10 * time.Second
			receipt, err := s.Decrease(trace.WithFaults(context.Background(), id, hold), id, o)
			require.NoError(t, err)
			// Not less the receipt's wait: that clock starts before the rung's own.
			assert.LessOrEqual(t, *receipt.Lease.ValidMS, 10_000-3000-500.0, "the TTL, less the time spent, less the drift")
			assert.Positive(t, *receipt.Lease.ValidMS)
		})
	}
}
