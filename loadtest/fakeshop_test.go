package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"
)

// fakeShop answers like a stockapi that holds its stock in memory. Its fault is whatever the test wants to see
// found out.
type fakeShop struct {
	mu     sync.Mutex
	stock  map[string]int64
	orders int
	// oversell sells every tenth unit twice, whatever the rung; lacks is a rung that cannot be had here.
	oversell bool
	lacks    string
	now      time.Time // the last time that a trace or a lease names
	*httptest.Server
}

func newFakeShop(t *testing.T) *fakeShop {
	t.Helper()
	f := &fakeShop{stock: map[string]int64{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /rungs", f.rungs)
	mux.HandleFunc("GET /stock/{p}", f.getStock)
	mux.HandleFunc("PUT /stock/{p}", f.putStock)
	mux.HandleFunc("DELETE /stock/{p}", func(_ http.ResponseWriter, r *http.Request) { f.set(r.PathValue("p"), 0) })
	mux.HandleFunc("DELETE /locks/{p}", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("POST /{rung}/decrease", f.decrease)
	f.Server = httptest.NewServer(mux)
	t.Cleanup(f.Close)
	return f
}

func (f *fakeShop) set(product string, n int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stock[product] = n
}

func (f *fakeShop) rungs(w http.ResponseWriter, _ *http.Request) {
	var rungs []map[string]any
	for _, n := range []string{"v0", "v0.5", "v1", "v1.5", "v2", "v3", "v4", "v5", "v5-as-printed", "v6"} {
		rungs = append(rungs, map[string]any{"number": n, "available": n != f.lacks, "needs": []string{"five nodes"}})
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"instance": "fake", "clock": "m", "rungs": rungs})
}

func (f *fakeShop) getStock(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	fmt.Fprintf(w, `{"quantity":%d}`, f.stock[r.PathValue("p")])
}

func (f *fakeShop) putStock(w http.ResponseWriter, r *http.Request) {
	var s struct{ Quantity int64 }
	_ = json.NewDecoder(r.Body).Decode(&s)
	f.set(r.PathValue("p"), s.Quantity)
}

// decrease sells under a mutex, and answers with the lease and the trace that a lock in Redis would leave.
func (f *fakeShop) decrease(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	product, id := r.URL.Query().Get("product"), r.Header.Get("X-Request-ID")
	var quantity int64
	_, _ = fmt.Sscan(r.URL.Query().Get("quantity"), &quantity)
	f.orders++
	answer := map[string]any{"order": id, "quantity": quantity, "instance": "fake"}
	answer["lease"], answer["trace"] = f.lockOf(id)
	left := f.stock[product] - quantity
	if left < 0 {
		answer["type"] = "/problems/sold-out"
		w.WriteHeader(http.StatusConflict)
	} else {
		unit := left + 1
		if f.oversell && unit%10 == 0 {
			unit++
		}
		answer["units"], answer["left"] = []int64{unit}, left
		f.stock[product] = left
	}
	_ = json.NewEncoder(w).Encode(answer)
}

func (f *fakeShop) lockOf(id string) (lease, trace any) {
	now := func() string {
		before := f.now
		for !f.now.After(before) { // no two times are the same, whatever the resolution of the clock
			f.now = time.Now()
		}
		return f.now.Format(time.RFC3339Nano)
	}
	command := func(cmd, reply string) map[string]any {
		return map[string]any{"node": "n", "cmd": cmd, "key": "lock", "at": now(), "end": now(), "reply": reply}
	}
	set := command("set", "true")
	lease = map[string]any{"token": id, "acquired_at": now(), "released_at": now()}
	return lease, []any{set, command("eval:release", "1")}
}
