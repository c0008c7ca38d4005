package sale

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/backend/backendtest"
	"stockapi/internal/lock"
	"stockapi/internal/metrics"
	"stockapi/internal/stock"
)

// A process that is stopped in the middle of its work, and goes on after its lease has ended, looks before whatever
// renews the lease has run: here that never runs again. It sells nothing. v5 does not look.
func TestALeaseThatEndedAtWorkSellsNothing(t *testing.T) {
	for _, id := range []string{"v5", "v5.5", "v5.7", "v6", "v7", "v8", "v9", "v9-naive", "v9-nodes", "v10", "v11", "v12",
		"v15"} {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			r, err := lock.Find(id)
			require.NoError(t, err)
			_, b := newShopFor(t, backendtest.StartEmbedded(t), r)
			stuck := make(chan struct{})
			b.OnRenew = func(bool) { <-stuck }
			s := New("a", stock.NewShelf(b.Redis), b, metrics.New("a"), slog.New(slog.DiscardHandler))
			o := order()
			o.TTL, o.Work = 300*time.Millisecond, 900*time.Millisecond
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
