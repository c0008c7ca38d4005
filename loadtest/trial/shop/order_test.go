package shop

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/history"
)

func TestParseRequest(t *testing.T) {
	for text, want := range map[string]Request{
		"POST /decrease":                        {Method: "POST", Path: "/decrease"},
		`POST /buy {"sku":"{product}", "n": 1}`: {Method: "POST", Path: "/buy", Body: `{"sku":"{product}", "n": 1}`},
		"PUT /a/{product}?order={order}&ttl=2s": {Method: "PUT", Path: "/a/{product}?order={order}&ttl=2s"},
		"POST /buy sku={product}&n=1":           {Method: "POST", Path: "/buy", Body: "sku={product}&n=1"},
		"GET /":                                 {Method: "GET", Path: "/"},
	} {
		got, err := ParseRequest(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, got)
	}
	for _, text := range []string{"", "POST", "post /decrease", "POST decrease", "/decrease", "POST  /a"} {
		_, err := ParseRequest(text)
		assert.ErrorContains(t, err, "POST /decrease", text)
	}
}

func TestCheckStock(t *testing.T) {
	for text, good := range map[string]bool{
		"SET ProductStock_{product} {n}": true, "set s {n}": true, "HSET stock {product} {n}": true, "hmset s f {n}": true,
		"": false, "SET s": false, "SET {n} s": false, "SET s 100": false, "INCRBY s {n}": false, "HSET s {n}": false,
		"SET s {n} EX 100": true, "SET s f {n}": false, "{n}": false,
	} {
		err := (&Options{Stock: strings.Fields(text)}).Check()
		assert.Equal(t, good, err == nil, "%q: %v", text, err)
	}
	trial := &Shop{Options: Options{Stock: []string{"HSET", "stock:{product}", "n", "{n}"}, Product: "7"}}
	assert.Equal(t, "stock:7 n", trial.Shelf().Key+" "+trial.Shelf().Field)
}

// Cells are played one at a time if they share what is put for them. A Redis is each pair's own.
func TestWhatPairsShare(t *testing.T) {
	stock := []string{"SET", "s", "{n}"}
	for _, c := range []struct {
		o                 Options
		elsewhere, shared bool
	}{
		{Options{Stock: stock}, false, false},
		{Options{Stock: stock, Set: "redis-cli -p {redis_port} SET token 1"}, false, false},
		{Options{Stock: stock, Set: "psql -c 'DELETE FROM sales'"}, false, true},
		{Options{Set: "redis-cli -u {redis} SET open {n}"}, true, true},
		{Options{Left: "count"}, true, true},
		{Options{Database: "127.0.0.1:5432"}, true, true},
	} {
		assert.NoError(t, c.o.Check())
		assert.Equal(t, []bool{c.elsewhere, c.shared}, []bool{c.o.IsElsewhere(), c.o.IsShared()}, c.o)
	}
}

// Some shops sell only once to a customer: no two orders of a trial are the same customer's.
func TestOrdersAreUniqueInTrial(t *testing.T) {
	shop := &Shop{Options: Options{Product: "7"}, Begun: time.UnixMilli(1_000_000_042)}
	seen := map[string]bool{}
	for range 3 {
		text := shop.fill("anna", 40*time.Millisecond).Replace(`/{product}?work={ms}&i={i} {"user":"{order}","n":{i}}`)
		assert.Regexp(t, `^/7\?work=40&i=(\d+) {"user":"anna-42-\d+","n":\d+}$`, text)
		seen[text] = true
	}
	assert.Len(t, seen, 3)
	first := &Shop{}
	assert.Equal(t, "customer 1", first.fill("anna", 0).Replace("customer {i}"), "customers can be prepared")
	next := &Shop{Begun: time.UnixMilli(43)}
	assert.Equal(t, "anna-43-1", next.fill("anna", 0).Replace("{order}"), "a database remembers the orders of a trial")
}

func TestParseHeader(t *testing.T) {
	for text, want := range map[string]Header{
		"Authorization: Bearer t": {"Authorization", "Bearer t"}, "X-A:b: c, d": {"X-A", "b: c, d"}, "x:": {"x", ""},
	} {
		got, err := ParseHeader(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, got)
	}
	for _, text := range []string{"", "Authorization", "Bearer t", ": t", "a b: c", "a: b\nc: d", "a: b\x00"} {
		_, err := ParseHeader(text)
		assert.ErrorContains(t, err, "Authorization: Bearer", text)
	}
}

// Every order has the user's headers, and they replace ours.
func TestHeadersOfOrders(t *testing.T) {
	var got *http.Request
	shop := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r }))
	defer shop.Close()
	trial := &Shop{Begun: time.UnixMilli(7), Options: Options{Headers: []Header{{"authorization", "Bearer t"},
		{"Idempotency-Key", "{order}"}, {"Content-Type", "text/plain"}, {"X-Twice", "1"}, {"X-Twice", "2"},
		{"Host", "shop.example"}}}}
	for i := 1; i <= 2; i++ {
		o := trial.NewOrder("anna", AtA, history.Buy)
		o.headers = trial.headers(trial.fill("anna", 0))
		o.send(t.Context(), shop.Client(), shop.URL, "POST", "{}", nil)
		assert.Equal(t, "Bearer t", got.Header.Get("Authorization"))
		assert.Equal(t, fmt.Sprintf("anna-7-%d", i), got.Header.Get("Idempotency-Key"))
		assert.Equal(t, "text/plain", got.Header.Get("Content-Type"))
		assert.Equal(t, []string{"1", "2"}, got.Header["X-Twice"])
		assert.Equal(t, "shop.example", got.Host)
	}
}

// Orders are those of different customers if their requests differ.
func TestCustomersOfTrial(t *testing.T) {
	for text, differ := range map[string]bool{
		"POST /decrease": false, "POST /buy?user=7 {product}": false, "POST /buy?user={order}": true,
		`POST /buy {"user":{i}}`: true,
	} {
		order, err := ParseRequest(text)
		require.NoError(t, err)
		assert.Equal(t, differ, (&Shop{Options: Options{Order: order}}).CustomersDiffer(), text)
	}
	assert.True(t, (&Shop{Options: Options{Headers: []Header{{"X-User", "{i}"}}}}).CustomersDiffer())
}

// A cell has --units units. By default it has enough for its orders, except for those of a crowd.
func TestUnitsOfCell(t *testing.T) {
	for _, one := range []struct{ asked, cell, crowd, crowds int64 }{{0, 100, 15, 30}, {1, 1, 1, 1}} {
		trial := &Shop{Options: Options{Units: one.asked}}
		for crowd, want := range []int64{one.cell, one.crowd, one.crowds} {
			assert.Equal(t, want, trial.UnitsFor(crowd), "%d of %d instances", one.asked, crowd)
		}
	}
}

// answer sends an order to a shop that gives this answer, and returns the order.
func answer(t *testing.T, sold *regexp.Regexp, with http.HandlerFunc) *Order {
	t.Helper()
	shop := httptest.NewServer(with)
	defer shop.Close()
	client, o := shop.Client(), (&Shop{}).NewOrder("", AtA, history.Buy)
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse } // as a bench's
	o.send(t.Context(), client, shop.URL, "POST", "", sold)
	return o
}

// 2xx is sold, 4xx is not, anything else is unknown. If a shop answers 200 to everything, the body decides; if it
// redirects, the Location, too.
func TestOutcomesOfAnswers(t *testing.T) {
	yes := regexp.MustCompile(`"ok": *true`)
	for _, one := range []struct {
		status int
		body   string
		sold   *regexp.Regexp
		want   history.Outcome
	}{
		{200, "", nil, history.Sold}, {201, "", nil, history.Sold}, {409, "", nil, history.Busy},
		{423, "", nil, history.Busy},
		{500, "", nil, history.Unknown}, {302, "", nil, history.Unknown}, {503, "", nil, history.Unknown},
		{200, `{"ok": true}`, yes, history.Sold}, {200, `{"ok": false}`, yes, history.Busy},
		{500, `{"ok": true}`, yes, history.Unknown},
		{303, `{"ok": true}`, yes, history.Sold}, {303, `{"ok": false}`, yes, history.Busy},
		{303, "", regexp.MustCompile("^/thanks$"), history.Sold}, {303, "", regexp.MustCompile("/sorry"), history.Busy},
		{200, "", regexp.MustCompile("/thanks"), history.Busy},
	} {
		o := answer(t, one.sold, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "/thanks")
			w.WriteHeader(one.status)
			_, _ = w.Write([]byte(one.body))
		})
		assert.Equal(t, one.want, o.Op.Outcome, "%d %s", one.status, one.body)
		assert.Equal(t, one.status, o.Op.Status)
		assert.False(t, o.Ended.IsZero())
	}
	redirected := answer(t, nil, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		http.Redirect(w, r, "/thanks", http.StatusSeeOther)
	})
	assert.False(t, redirected.Page, "the path is right")
	assert.Equal(t, "to /thanks", redirected.Op.Detail, "the text that --sold may match")
	page := answer(t, nil, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
	})
	assert.True(t, page.Page)
	half := answer(t, nil, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = w.Write([]byte("half"))
	})
	assert.Equal(t, history.Unknown, half.Op.Outcome)
	assert.Zero(t, half.Op.Status)
	silent := answer(t, nil, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	assert.Equal(t, history.Unknown, silent.Op.Outcome)
	assert.True(t, silent.Ended.IsZero())
	nobody := (&Shop{}).NewOrder("", AtA, history.Buy)
	nobody.send(t.Context(), &http.Client{Timeout: time.Minute}, "http://127.0.0.1:1", "POST", "", nil)
	assert.Equal(t, history.NotSold, nobody.Op.Outcome)
	assert.Equal(t, "could not connect", nobody.Op.Detail)
}

// After its end, an instance may still work for an order only if its customer hung up or timed out.
func TestOrdersOfCustomersWhoLeave(t *testing.T) {
	asked := make(chan struct{})
	shop := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		<-r.Context().Done()
	}))
	defer shop.Close()
	send := func(ctx context.Context) *Order {
		o := (&Shop{}).NewOrder("", AtA, history.Buy)
		o.Send(ctx, func(ctx context.Context) history.Op {
			return o.begin(ctx, func(ctx context.Context) { o.send(ctx, shop.Client(), shop.URL, "POST", "", nil) })
		})
		<-asked
		return o
	}
	o := send(t.Context())
	o.HangUp()
	assert.True(t, o.Left)
	assert.False(t, o.Waited)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	o = send(ctx)
	<-o.Done()
	assert.True(t, o.Left)
	assert.True(t, o.Waited)
}
