package client_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"stockapi/loadtest/client"
	"stockapi/loadtest/history"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const sale = `{"rung":"v4","product":"p","quantity":1,"left":6,"units":[7],"instance":"b","order":"p-1","waited_ms":1.5,
 "lease":{"token":"t","fence":3,"acquired_at":"2026-01-01T00:00:01.000000001Z",
  "released_at":"2026-01-01T00:00:02Z","lost":true},
 "trace":[{"node":"n:1","cmd":"SET","key":"k","at":"2026-01-01T00:00:00.5Z","end":"2026-01-01T00:00:01Z",
  "reply":"OK"}]}`

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// buy sends an order to a shop that gives this answer.
func buy(t *testing.T, answer http.HandlerFunc) history.Op {
	t.Helper()
	server := httptest.NewServer(answer)
	defer server.Close()
	c := client.New(1, "")
	defer c.Close()
	order := client.Order{ID: "p-1", Rung: "v4", Product: "p", Quantity: 1, Timeout: 200 * time.Millisecond}
	return c.Buy(t.Context(), start, time.Now(), server.URL, order)
}

func TestEveryAnswerHasOneOutcome(t *testing.T) {
	cases := []struct {
		name   string
		status int
		body   string
		want   history.Outcome
	}{
		{"sale", 200, sale, history.Sold},
		{"sale with items of another kind", 200, `{"quantity":1,"order":"p-1","units":[7],"items":{"sku":1}}`, history.Sold},
		{"sale with items without units", 200,
			`{"quantity":1,"order":"p-1","units":[7],"items":[{"product":"p"},{"sku":1}]}`, history.Sold},
		{"sale cut short", 200, sale[:100], history.Unknown},
		{"created", 201, sale, history.Unknown},
		{"moved", 302, "", history.Unknown},
		{"bad input", 400, `{"type":"/problems/bad-input","outcome":"not-sold"}`, history.NotSold},
		{"no such rung", 404, "", history.NotSold},
		{"sold out", 409, `{"type":"/problems/sold-out","order":"p-1","outcome":"not-sold"}`, history.Refused},
		{"lock busy", 423, `{"type":"/problems/lock-busy","order":"p-1","outcome":"not-sold"}`, history.Busy},
		{"refusal of another order", 409, `{"type":"/problems/sold-out","order":"p-2"}`, history.Unknown},
		{"outcome unknown", 500, `{"type":"/problems/outcome-unknown","outcome":"unknown"}`, history.Unknown},
		{"500 without a word", 500, "", history.Unknown},
		{"stock corrupt", 502, `{"type":"/problems/stock-corrupt","outcome":"not-sold"}`, history.NotSold},
		{"lock corrupt", 502, `{"type":"/problems/lock-corrupt","outcome":"not-sold"}`, history.NotSold},
		{"a proxy's 502", 502, "<html>", history.Unknown},
		{"backend away", 503, `{"type":"/problems/backend-away","outcome":"not-sold"}`, history.NotSold},
		{"lease lost, and unknown", 503, `{"type":"/problems/lease-lost","outcome":"unknown"}`, history.Unknown},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			op := buy(t, func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(c.status)
				_, _ = fmt.Fprint(w, c.body)
			})
			assert.Equal(t, c.want, op.Outcome, op.Detail)
			assert.Equal(t, c.status, op.Status)
			assert.True(t, op.Done.Known(), "it was answered")
		})
	}
}

func TestSaleIsReadInFull(t *testing.T) {
	op := buy(t, func(w http.ResponseWriter, r *http.Request) {
		assert.Equal(t, "/v4/decrease", r.URL.Path)
		assert.Equal(t, "p-1", r.Header.Get("X-Request-ID"))
		assert.Equal(t, "true", r.URL.Query().Get("trace"))
		_, _ = fmt.Fprint(w, sale)
	})
	assert.Equal(t, "b", op.Instance)
	assert.Equal(t, []int64{7}, op.Units)
	assert.Equal(t, &history.Lease{
		Token: "t", Fence: 3, AcquiredAt: 1_000_000_001, ReleasedAt: 2_000_000_000, Lost: true,
	}, op.Lease)
	assert.Equal(t, []history.Command{
		{Node: "n:1", Cmd: "set", Key: "k", At: 500_000_000, End: 1_000_000_000, Reply: "OK"},
	}, op.Trace)
}

// An order that was served under another order's lease names that order, whatever its answer.
func TestOrderSoldByAnother(t *testing.T) {
	for status, body := range map[int]string{
		200: `{"order":"p-1","quantity":1,"left":6,"units":[7],"instance":"b","sold_by":"p-0"}`,
		409: `{"type":"/problems/sold-out","outcome":"not-sold","order":"p-1","instance_name":"b","sold_by":"p-0"}`,
		500: `{"type":"/problems/outcome-unknown","outcome":"unknown","order":"p-1","instance_name":"b","sold_by":"p-0"}`,
	} {
		op := buy(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = fmt.Fprint(w, body)
		})
		assert.Equal(t, "p-0", op.SoldBy, body)
		assert.Nil(t, op.Lease)
	}
}

// The problem's type shows whether the order noticed in time that it had lost its lease.
func TestLeaseLossIsNoticed(t *testing.T) {
	for body, noticed := range map[string]bool{
		`{"type":"/problems/lease-lost","outcome":"not-sold","lease":LEASE}`:  true,
		`{"type":"/problems/fence-stale","outcome":"not-sold","lease":LEASE}`: false,
		`{"type":"/problems/lease-lost","outcome":"unknown","lease":LEASE}`:   false,
	} {
		op := buy(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = fmt.Fprint(w, strings.Replace(body, "LEASE",
				`{"token":"t","acquired_at":"2026-01-01T00:00:01Z","lost":true}`, 1))
		})
		assert.Equal(t, noticed, op.Lease.Noticed, body)
	}
}

// A read orders no units, and gets none.
func TestReadBuysNothing(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		assert.Equal(t, http.MethodGet, r.Method)
		assert.Equal(t, "/v10/stock/p", r.URL.Path)
		assert.False(t, r.URL.Query().Has("quantity"), "a read has no quantity")
		_, _ = fmt.Fprint(w, `{"order":"p-1","quantity":0,"left":83,"units":[],"instance":"b"}`)
	}))
	defer server.Close()
	c := client.New(1, "")
	defer c.Close()
	op := c.Buy(context.Background(), start, time.Now(), server.URL,
		client.Order{ID: "p-1", Rung: "v10", Product: "p", Reads: true, Timeout: time.Second})
	assert.Equal(t, history.Sold, op.Outcome, op.Detail)
	assert.EqualValues(t, 83, op.Left)
	assert.Empty(t, op.Units)
}

func TestUnansweredOrderIsUnknown(t *testing.T) {
	cases := map[string]http.HandlerFunc{
		"too late":        func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"connection lost": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"cut off in the body": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = fmt.Fprint(w, sale)
		},
	}
	for name, answer := range cases {
		t.Run(name, func(t *testing.T) {
			op := buy(t, answer)
			assert.Equal(t, history.Unknown, op.Outcome)
			assert.False(t, op.Done.Known())
			assert.NotEmpty(t, op.Detail)
		})
	}
}

func TestRefusedConnectionSoldNothing(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	c := client.New(1, "")
	op := c.Buy(context.Background(), start, time.Now(), "http://"+l.Addr().String(),
		client.Order{ID: "p-1", Timeout: time.Second})
	assert.Equal(t, history.NotSold, op.Outcome)
}

// Units in a 200 are kept whatever else is wrong with it: they were sold.
func TestUnitsOfABad200AreKept(t *testing.T) {
	for body, want := range map[string]history.Op{
		`{"quantity":2,"order":"p-1","units":[7,8]}`: {Units: []int64{7, 8}},
		`{"quantity":1,"order":"p-1","units":[7,8]}`: {Units: []int64{7, 8}},
		`{"quantity":1,"order":"p-2","units":[7]}`:   {Units: []int64{7}, For: "p-2"},
		`{"quantity":1,"units":[7]}`:                 {Units: []int64{7}},
		`{"quantity":1,"order":"p-1","units":[]}`:    {Units: []int64{}},
	} {
		op := buy(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, body) })
		assert.Equal(t, history.Unknown, op.Outcome, body)
		assert.Equal(t, want.Units, op.Units, body)
		assert.Equal(t, want.For, op.For, body)
	}
	op := buy(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, `{"success":false}`) })
	assert.Equal(t, "200, but without the member order", op.Detail)
	op = buy(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusConflict)
		_, _ = fmt.Fprint(w, `{"type":"/problems/sold-out","order":"p-2"}`)
	})
	assert.Equal(t, "p-2", op.For)
}

// A client that is not scheduled between an order's due time and its sending is slow; that is no clock step.
func TestLateStartIsNoClockStep(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
	}))
	defer server.Close()
	c := client.New(1, "")
	defer c.Close()
	begun := time.Now()
	op := c.Buy(t.Context(), begun, begun.Add(-time.Second), server.URL, client.Order{ID: "p-1"})
	assert.Greater(t, op.Latency, time.Second)
	assert.InDelta(t, float64(op.Latency), float64(op.Done-op.Due), float64(time.Millisecond))
}

// Answers are untrusted. No text of a ladder may move the cursor or begin a line; history.Op.Bound does the same for
// answers to orders.
func TestLadderTextsArePlain(t *testing.T) {
	const evil, plain = `\u001b[2J\nas expected`, `\x1b[2J as expected`
	mux := http.NewServeMux()
	mux.HandleFunc("GET /rungs", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"instance":"%[1]s","rungs":[{"number":"%[1]s","name":"%[1]s"}]}`, evil)
	})
	c, url := serve(t, mux)
	ladder, err := c.Ladder(t.Context(), url)
	require.NoError(t, err)
	assert.Equal(t, []string{plain, plain, plain},
		[]string{ladder.Instance, ladder.Rungs[0].Number, string(ladder.Rungs[0].Name)})
}
