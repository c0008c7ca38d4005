package sale

import (
	"context"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/backend/backendtest"
	"stockapi/internal/lock"
	"stockapi/internal/stock"
)

// A process that is stopped at work, and goes on after its lease has ended, checks before the renewer has run: here
// that never runs again. It sells nothing. v5 does not check.
func TestALeaseThatEndedAtWorkSellsNothing(t *testing.T) {
	backendtest.Long(t)
	t.Parallel()
	for _, id := range []string{"v5", "v5.5", "v5.7", "v6", "v7", "v8", "v9", "v9-naive", "v9-nodes", "v10", "v11", "v12",
		"v15"} {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			r, err := lock.Find(id)
			require.NoError(t, err)
			_, b := newShopFor(t, backendtest.StartEmbedded(t), r)
			stuck := make(chan struct{})
			b.OnRenew = func(bool) { <-stuck }
			s := New("a", lock.Ladder(), stock.NewShelf(b.Redis), b, NewMetrics("a"), slog.New(slog.DiscardHandler))
			o := order()
			o.TTL, o.Work = 500*time.Millisecond, time.Second
			time.AfterFunc(2*o.Work, func() { close(stuck) }) // for the release, which joins the renewing
			receipt, err := s.Decrease(context.Background(), id, o)
			if id == "v5" {
				require.NoError(t, err)
				assert.EqualValues(t, 99, left(t, s))
				return
			}
			require.ErrorIs(t, err, lock.ErrLost)
			assert.EqualValues(t, 100, left(t, s))
			assert.True(t, receipt.Lease.Lost)
		})
	}
}

// An unrenewed lease expires at work. From v5.5 on the holder notices by its clock, and the sale is stopped before its
// write. v5 does not check. Rungs that never renew sell as before, and so do those without a TTL.
func TestALeaseThatIsNotRenewed(t *testing.T) {
	backendtest.Long(t)
	sell := []string{"v0", "v0.5", "v1", "v1.5", "v2", "v3", "v4", "v4.5", "v5", "v5-as-printed", "v12-naive",
		"v12-session", "v13", "v14", "v14-hasty", "v16", "v17"}
	eachRung(t, func(t *testing.T, r Status, s *Shop, _ lock.Backends) {
		o := order()
		o.TTL, o.Work, o.NoRenew = time.Second, time.Minute, true
		if slices.Contains(sell, r.Number) {
			o.Work = 2 * o.TTL
		}
		start := time.Now()
		receipt, err := s.Decrease(context.Background(), r.Number, o)
		if slices.Contains(sell, r.Number) {
			require.NoError(t, err)
			assert.EqualValues(t, 99, left(t, s))
			if slices.Contains([]string{"v5", "v5-as-printed"}, r.Number) {
				assert.True(t, receipt.Lease.Lost, "the release finds it")
			}
			return
		}
		require.ErrorIs(t, err, lock.ErrLost)
		assert.True(t, receipt.Lease.Lost)
		assert.InDelta(t, 1, testutil.ToFloat64(s.metrics.Lost.WithLabelValues(r.Number)), 0)
		assert.EqualValues(t, 100, left(t, s))
		assert.Less(t, time.Since(start), o.Work, "stopped when the lease ended")
	})
}
