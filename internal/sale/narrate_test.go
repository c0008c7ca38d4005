package sale

import (
	"bytes"
	"context"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/backend/backendtest"
	"stockapi/internal/lock"
	"stockapi/internal/narrate"
	"stockapi/internal/stock"
)

// A script holds the narrated lines. Goroutines write and read it.
type script struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *script) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

// steps returns the lines about one order, without the columns before the mark.
func (s *script) steps(order string) (steps []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for line := range strings.Lines(s.text.String()) {
		if strings.Contains(line, " "+order+" ") {
			steps = append(steps, strings.TrimSpace(line[strings.Index(line, " ms ")+len(" ms "):]))
		}
	}
	return steps
}

var variable = regexp.MustCompile(`: token .*`)

func narrated(s *Shop) *script {
	out := &script{}
	s.Narrate(narrate.New(out, false))
	return out
}

func TestEveryRungIsNarrated(t *testing.T) {
	eachRung(t, func(t *testing.T, r Status, s *Shop, _ lock.Backends) {
		out := narrated(s)
		o := order()
		o.ID, o.Quantity = "mine", 3
		receipt, err := s.Decrease(context.Background(), r.Number, o)
		require.NoError(t, err)
		assert.Nil(t, receipt.Trace, "no trace was requested")
		steps := out.steps("mine")
		if slices.Contains([]string{"v1.5", "v2", "v3", "v4", "v4.5"}, r.Number) {
			assert.Contains(t, steps[1], ", TTL 1m0s", "its expiry is narrated as its TTL")
		}
		for i := range steps {
			steps[i] = variable.ReplaceAllString(steps[i], "")
		}
		switch r.Number {
		case "v0":
			assert.Equal(t, []string{"wants 3 of 10000", "takes no lock", "read 100", "sold units 98 to 100, wrote 97"}, steps)
		case "v16":
			assert.Equal(t, []string{"wants 3 of 10000", "takes no lock", "read 100", "read 100 again",
				"sold units 98 to 100, wrote 97"}, steps)
		case "v17":
			assert.Equal(t, []string{"wants 3 of 10000", "takes no lock", "sold units 98 to 100, wrote 97"}, steps)
		case "v1", "v1.5", "v2", "v3":
			assert.Equal(t, []string{"wants 3 of 10000", "holds the lock", "read 100", "sold units 98 to 100, wrote 97",
				"released: deleted the key"}, steps)
		default:
			assert.Equal(t, []string{"wants 3 of 10000", "holds the lock", "read 100", "sold units 98 to 100, wrote 97",
				"released"}, steps)
		}
	})
}

func TestReadersAndSeveralProductsAreNarrated(t *testing.T) {
	s, _ := newShopOfTwo(t)
	out := narrated(s)
	look := order()
	look.ID = "look"
	_, err := s.Read(context.Background(), "v10", look)
	require.NoError(t, err)
	steps := out.steps("look")
	require.Len(t, steps, 4, "%q", steps)
	assert.Equal(t, []string{"wants to read 10000", "read 100", "released"}, slices.Delete(steps, 1, 2))

	both := orderOf(stock.Item{Product: product, Quantity: 1}, stock.Item{Product: second, Quantity: 2})
	both.ID = "both"
	_, err = s.Decrease(context.Background(), "v9", both)
	require.NoError(t, err)
	steps = out.steps("both")
	require.Len(t, steps, 7, "%q", steps)
	assert.Equal(t, []string{"wants 1 of 10000 and 2 of 10001", "read 100 of 10000", "read 10 of 10001",
		"sold unit 100 of 10000, wrote 99", "sold units 9 to 10 of 10001, wrote 8", "released"}, slices.Delete(steps, 1, 2))
}

func TestARefusalIsNarrated(t *testing.T) {
	s, _ := newShop(t, backendtest.StartEmbedded(t))
	out := narrated(s)
	many := order()
	many.ID, many.Quantity = "many", 101
	_, err := s.Decrease(context.Background(), "v4", many)
	require.ErrorIs(t, err, stock.ErrSoldOut)
	steps := out.steps("many")
	require.Len(t, steps, 5, "%q", steps)
	assert.Equal(t, []string{"read 100", "not sold: only 100 left", "released"}, steps[2:])
	s.Close()
	late := order()
	late.ID = "late"
	_, err = s.Decrease(context.Background(), "v4", late)
	require.ErrorIs(t, err, ErrDraining)
	assert.Equal(t, []string{"wants 1 of 10000", "not sold: " + ErrDraining.Error()}, out.steps("late"))
}

// The stock refuses fences that are times of Redis' clock, in microseconds: how much newer one is, is how much later it
// was drawn.
func TestRefusedFenceIsOlderByTheTimeBetween(t *testing.T) {
	t.Parallel()
	for _, r := range lock.Ladder() {
		if !slices.Contains([]stock.Kind{stock.Fenced, stock.WriteFenced, stock.Combined}, r.Shelf) {
			continue
		}
		t.Run(r.Number, func(t *testing.T) {
			t.Parallel()
			server := backendtest.StartEmbedded(t)
			a, locks := newShop(t, server)
			b, _ := newShop(t, server) // on v18 and v19 the orders of one instance share a lease
			out := narrated(a)
			older := order()
			older.ID, older.Work = "older", 1500*time.Millisecond
			var sale sync.WaitGroup
			sale.Go(func() {
				_, err := a.Decrease(context.Background(), r.Number, older)
				assert.ErrorIs(t, err, stock.ErrStale)
			})
			require.Eventually(t, func() bool { return slices.Contains(out.steps("older"), "works for 1.5s") }, 10*time.Second,
				time.Millisecond)
			time.Sleep(300 * time.Millisecond)
			_, err := locks.Break(context.Background(), product)
			require.NoError(t, err)
			_, err = b.Decrease(context.Background(), r.Number, order())
			require.NoError(t, err)
			sale.Wait()
			assert.Regexp(t, `(?m)^! not sold: the stock refuses fence …\d+, older than …\d+ by ([3-9]\d\d ms|1\.\d s)$`,
				strings.Join(out.steps("older"), "\n"))
		})
	}
}
