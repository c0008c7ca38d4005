package scenario_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/client"
	"stockapi/loadtest/history"
	"stockapi/loadtest/scenario"
)

// smallShop sells under a mutex, one unit an order. Its readings of the stock can be late, and its answers can be lost.
type smallShop struct {
	mu    sync.Mutex
	stock int64
	// late holds what the next readings of the stock return after a sale, in place of the stock; -1: they fail.
	late []int64
	// lose says that the nth order is sold and its answer lost; tell, that the shop tells of orders afterwards.
	lose func(n int) bool
	tell bool
	// soldBy, if set, is the order under whose lease all others are sold, as the shop says.
	soldBy string

	orders map[string]map[string]any
	bought int
	asked  int
	*httptest.Server
}

func newSmallShop(t *testing.T) *smallShop {
	t.Helper()
	s := &smallShop{orders: map[string]map[string]any{}, lose: func(int) bool { return false }}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /rungs", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"instance":"s","clock":"m","rungs":[{"number":"v17","available":true}]}`)
	})
	mux.HandleFunc("PUT /stock/{p}", s.locked(func(_ http.ResponseWriter, r *http.Request) {
		var q struct{ Quantity int64 }
		_ = json.NewDecoder(r.Body).Decode(&q)
		s.stock = q.Quantity
	}))
	mux.HandleFunc("GET /stock/{p}", s.locked(func(w http.ResponseWriter, r *http.Request) {
		said := s.stock
		if s.bought > 0 && len(s.late) > 0 {
			said, s.late = s.late[0], s.late[1:]
		}
		if said < 0 {
			http.NotFound(w, r)
			return
		}
		fmt.Fprintf(w, `{"quantity":%d}`, said)
	}))
	mux.HandleFunc("GET /orders/{id}", s.locked(func(w http.ResponseWriter, r *http.Request) {
		s.asked++
		o, known := s.orders[r.PathValue("id")]
		if !s.tell || !known {
			http.NotFound(w, r)
			return
		}
		if s.asked == 1 { // once it is not over yet
			o = map[string]any{"order": r.PathValue("id"), "outcome": "pending"}
		}
		_ = json.NewEncoder(w).Encode(o)
	}))
	mux.HandleFunc("POST /{rung}/decrease", s.locked(s.sell))
	s.Server = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

func (s *smallShop) locked(h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		h(w, r)
	}
}

func (s *smallShop) sell(w http.ResponseWriter, r *http.Request) {
	id := r.Header.Get("X-Request-ID")
	quantity, _ := strconv.ParseInt(r.URL.Query().Get("quantity"), 10, 64)
	s.bought++
	o := map[string]any{"order": id, "quantity": quantity, "instance": "s", "outcome": "refused"}
	if s.soldBy != "" {
		o["sold_by"] = s.soldBy
	}
	status := http.StatusConflict
	if s.stock >= quantity {
		o["outcome"], o["units"], o["left"], status = "sold", []int64{s.stock - quantity + 1}, s.stock-quantity, http.StatusOK
		s.stock -= quantity
	}
	s.orders[id] = o
	if s.lose(s.bought) {
		panic(http.ErrAbortHandler)
	}
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(o)
}

// runIn runs a crowd of so many on a shop.
func runIn(t *testing.T, s *smallShop, requests int, stock int64) *history.Cell {
	t.Helper()
	specs, err := scenario.Table.Select([]string{"two-instances"}, []string{"v17"}, 2, 1)
	require.NoError(t, err)
	c := client.New(requests, "")
	t.Cleanup(c.Close)
	runner := &scenario.Runner{Client: c, Load: history.Load{
		Requests: requests, Concurrency: 10, Stock: stock, Wait: 10 * time.Second,
	}}
	cell, err := runner.Run(t.Context(), specs[0], "p", []string{s.URL, s.URL})
	require.NoError(t, err)
	return cell
}

// A reading of the stock that may be late accuses nobody.
func TestStockIsReadTwiceBeforeItBreaks(t *testing.T) {
	for name, c := range map[string]struct {
		late []int64 // the probe reads first
		left any
		want history.Result
	}{
		"in time":    {nil, 5, history.OK},
		"late":       {[]int64{9, 7}, 5, history.OK},
		"twice late": {[]int64{9, 7, 6}, nil, history.Indeterminate},
		"wrong":      {[]int64{9, 7, 7}, 7, history.Broken},
		"unread":     {[]int64{-1, -1, -1}, nil, history.Indeterminate},
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && c.late != nil {
				t.Skip("takes longer than a second")
			}
			t.Parallel()
			s := newSmallShop(t)
			s.late = c.late
			cell := runIn(t, s, 5, 10)
			assert.Equal(t, c.want, cell.Finding(history.Stock).Result)
			if c.left == nil {
				assert.Nil(t, cell.Left)
			} else if assert.NotNil(t, cell.Left) {
				assert.EqualValues(t, c.left, *cell.Left)
			}
		})
	}
}

// An order without an answer is asked for, if the shop tells: then nothing of it is unknown.
func TestUnknownOutcomesAreLookedUp(t *testing.T) {
	s := newSmallShop(t)
	s.tell, s.lose = true, func(n int) bool { return n%3 == 0 }
	cell := runIn(t, s, 30, 25)
	tally, resolved := cell.Tally(), 0
	assert.Equal(t, 25, tally.Sold)
	assert.Equal(t, 5, tally.Refused)
	assert.Zero(t, tally.Unknown)
	for _, op := range cell.Ops {
		if op.Resolved {
			resolved++
			assert.True(t, op.Done.Known())
			assert.Equal(t, op.Outcome == history.Sold, len(op.Units) == 1)
		}
	}
	assert.Equal(t, 10, resolved)
	assert.Equal(t, history.OK, cell.Finding(history.Stock).Result)
}

// The shop also says who sold for an order whose answer was lost: it had no lease of its own.
func TestResolvedOrderNamesItsSeller(t *testing.T) {
	s := newSmallShop(t)
	s.tell, s.lose, s.soldBy = true, func(n int) bool { return n == 2 }, "p-1"
	for _, op := range runIn(t, s, 3, 10).Ops {
		if op.Resolved {
			assert.Equal(t, "p-1", op.SoldBy)
		}
	}
}

// Who does not tell need not: what is unknown stays so.
func TestLookupIsOptional(t *testing.T) {
	s := newSmallShop(t)
	s.lose = func(n int) bool { return n == 1 }
	cell := runIn(t, s, 3, 10)
	assert.Equal(t, 1, cell.Tally().Unknown)
	assert.Positive(t, s.asked)
}

// What the client saw of itself comes with the cell.
func TestCrowdRecordsTheClient(t *testing.T) {
	cell := runIn(t, newSmallShop(t), 30, 25)
	require.NotNil(t, cell.Client)
	assert.Equal(t, 30, cell.Client.Asked)
	assert.Equal(t, 30, cell.Client.Delivered)
	assert.Equal(t, "closed", cell.Client.Loop)
	assert.Positive(t, cell.Client.Start)
	assert.Equal(t, "m", cell.Instances[1].Clock)
}

// A fresh request asks for one unit more than is left, and so changes nothing; for one unit if no order may have that
// many.
func TestProbeAsksForMoreThanIsLeft(t *testing.T) {
	for stock, want := range map[int64]int64{10: 8, 1002: 1000, 1003: 1} {
		ops := runIn(t, newSmallShop(t), 3, stock).Ops
		assert.Equal(t, want, ops[len(ops)-1].Quantity, stock)
	}
}
