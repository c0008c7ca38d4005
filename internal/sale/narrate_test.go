package sale

import (
	"bytes"
	"context"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/backend/backendtest"
	"stockapi/internal/lock"
	"stockapi/internal/narrate"
)

// variable matches the parts that differ from run to run: the columns before the mark, and the lease's token and fence.
var variable = regexp.MustCompile(`(?m)^.* ms ..?|: token [^,\n]*|, (fence|valid) [^,\n]*`)

// narrated returns the steps of one order of a shop.
func narrated(s *Shop, id string, o Order) (receipt Receipt, steps []string, err error) {
	var out bytes.Buffer
	s.Narrate(narrate.New(&out, false))
	receipt, err = s.Decrease(context.Background(), id, o)
	return receipt, strings.Split(strings.TrimSpace(variable.ReplaceAllString(out.String(), "")), "\n"), err
}

// The sale of every rung reports its steps, and the names of its commands are those that the narration knows.
func TestEveryRungIsNarrated(t *testing.T) {
	eachRung(t, func(t *testing.T, r Status, s *Shop, _ lock.Backends) {
		o := order()
		o.Work = time.Millisecond
		receipt, steps, err := narrated(s, r.Number, o)
		require.NoError(t, err)
		assert.Nil(t, receipt.Trace, "no trace was requested")
		want := []string{"wants 1 of 10000", "holds the lock", "read 100", "works for 1ms", "sold unit 100, wrote 99",
			"released"}
		switch r.Number {
		case "v0":
			want = slices.Concat(want[:1], []string{"takes no lock"}, want[2:5])
		case "v16":
			want = slices.Concat(want[:1], []string{"takes no lock"}, want[2:4], []string{"read 100 again"}, want[4:5])
		case "v17":
			want = slices.Concat(want[:1], []string{"takes no lock"}, want[3:5])
		case "v1", "v1.5", "v2", "v3":
			want[5] += ": deleted the key"
		}
		if slices.Contains([]string{"v1.5", "v2", "v3", "v4", "v4.5", "v5", "v5-as-printed"}, r.Number) {
			want[1] += ", TTL 1m0s"
		}
		assert.Equal(t, want, steps)
	})
}

// A sale that fails is narrated wherever it fails, and what is narrated is not logged.
func TestFailedSaleIsNarratedOrLogged(t *testing.T) {
	s, _ := newShop(t, backendtest.StartEmbedded(t))
	var log bytes.Buffer
	s.log = slog.New(slog.NewTextHandler(&log, nil))
	lost := order()
	lost.TTL, lost.Work = 10*time.Millisecond, 100*time.Millisecond
	_, steps, err := narrated(s, "v4", lost)
	require.NoError(t, err)
	assert.Contains(t, steps, "lease lost: the key was gone or another's")
	assert.Empty(t, log.String())

	many := order()
	many.Quantity = 101
	receipt, steps, _ := narrated(s, "v4", many)
	assert.True(t, receipt.Narrated)
	assert.Equal(t, []string{"not sold: only 99 left", "released"}, steps[len(steps)-2:], "at its step")

	s.Narrate(nil)
	_, err = s.Decrease(context.Background(), "v4", lost)
	require.NoError(t, err)
	assert.Contains(t, log.String(), "lease lost")
	s.Close()
	receipt, err = s.Decrease(context.Background(), "v4", order())
	require.ErrorIs(t, err, ErrDraining)
	assert.False(t, receipt.Narrated)
	receipt, steps, _ = narrated(s, "v4", order())
	assert.True(t, receipt.Narrated)
	assert.Equal(t, []string{"wants 1 of 10000", "not sold: " + ErrDraining.Error()}, steps)
}
