package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"
)

// A store holds the state that the instances of a shop share: the stock, the lock, and the outcomes of orders.
type store struct {
	// lock is the lock of the shop. It excludes others unless a test changes that.
	lock sync.Mutex

	mu     sync.Mutex
	stock  map[string]int64
	orders map[string]map[string]any
	came   int
}

// left returns the stock of a product, and whether the product exists.
func (s *store) left(product string) (n int64, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, known = s.stock[product]
	return n, known
}

// take takes units off the shelf atomically, and returns the rest, or false if there are not enough.
func (s *store) take(product string, quantity int64) (left int64, enough bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stock[product] < quantity {
		return s.stock[product], false
	}
	s.stock[product] -= quantity
	return s.stock[product], true
}

// arrived returns the number of orders so far.
func (s *store) arrived() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.came
}

// products returns the products on the shelf.
func (s *store) products() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.stock))
}

// record keeps the outcome of an order.
func (s *store) record(o *order) {
	s.mu.Lock()
	defer s.mu.Unlock()
	outcome := map[int]string{200: "sold", 409: "refused", 423: "busy"}[o.status]
	if outcome == "" {
		outcome = "unknown"
	}
	units, sold := o.doc["units"].([]int64)
	if !sold {
		units = []int64{}
	}
	s.orders[o.id] = map[string]any{"order": o.id, "outcome": outcome, "product": o.product, "quantity": o.quantity,
		"units": units, "left": o.left, "instance": fmt.Sprint(o.doc["instance"])}
}

// An instance is one instance of a shop, in memory. It implements docs/contract.md. Tests set fields to break one
// thing.
type instance struct {
	*store
	// name, clock and rungs are its answer to GET /rungs.
	name, clock string
	rungs       []string
	// now is its clock.
	now func() time.Time
	// sell serves an order, in place of [instance.underLock].
	sell func(*order)
	// tell changes an answer before it is sent. It may also delay it, or send none.
	tell func(*order)
	// edit changes the JSON answers of other routes, by pattern.
	edit map[string]func(doc map[string]any)
	// without are the patterns of missing routes.
	without []string
}

// newShop returns the two instances of a correct shop with v4 and v17.
func newShop() (a, b *instance) {
	s := &store{stock: map[string]int64{}, orders: map[string]map[string]any{}}
	a = &instance{store: s, name: "a", clock: "the machine's", rungs: []string{"v4", "v17"}, now: time.Now}
	second := *a
	second.name = "b"
	return a, &second
}

// serve serves the instance until the test ends.
func (in *instance) serve(t *testing.T) (url string) {
	t.Helper()
	server := httptest.NewServer(in.handler())
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server.URL
}

func (in *instance) handler() http.Handler {
	routes := map[string]http.HandlerFunc{
		"GET /livez":              func(http.ResponseWriter, *http.Request) {},
		"GET /readyz":             func(http.ResponseWriter, *http.Request) {},
		"GET /rungs":              in.getRungs,
		"GET /stock/{product}":    in.getStock,
		"PUT /stock/{product}":    in.putStock,
		"DELETE /stock/{product}": in.deleteStock,
		"DELETE /locks/{product}": func(http.ResponseWriter, *http.Request) {},
		"GET /metrics": func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintln(w, "stockapi_redis_commands_total 7")
		},
		"GET /orders/{order}":   in.getOrder,
		"POST /{rung}/decrease": in.decrease,
	}
	mux := http.NewServeMux()
	for pattern, handler := range routes {
		if !slices.Contains(in.without, pattern) {
			mux.HandleFunc(pattern, handler)
		}
	}
	return mux
}

// write sends an edited document, or 404 without one.
func (in *instance) write(w http.ResponseWriter, r *http.Request, doc map[string]any) {
	if doc == nil {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	if edit := in.edit[r.Pattern]; edit != nil {
		edit(doc)
	}
	_ = json.NewEncoder(w).Encode(doc)
}

func (in *instance) getRungs(w http.ResponseWriter, r *http.Request) {
	var rungs []any
	for _, number := range in.rungs {
		rungs = append(rungs, map[string]any{"number": number, "available": true, "needs": []string{}})
	}
	in.write(w, r, map[string]any{
		"instance": in.name, "clock": in.clock, "now": in.now().Format(time.RFC3339Nano), "build": "of a test",
		"rungs": rungs,
	})
}

func (in *instance) getStock(w http.ResponseWriter, r *http.Request) {
	left, known := in.left(r.PathValue("product"))
	if !known {
		in.write(w, r, nil)
		return
	}
	in.write(w, r, map[string]any{"product": r.PathValue("product"), "quantity": left})
}

func (in *instance) putStock(w http.ResponseWriter, r *http.Request) {
	var s struct{ Quantity int64 }
	if err := json.NewDecoder(r.Body).Decode(&s); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	in.stock[r.PathValue("product")] = s.Quantity
}

func (in *instance) deleteStock(_ http.ResponseWriter, r *http.Request) {
	in.mu.Lock()
	defer in.mu.Unlock()
	delete(in.stock, r.PathValue("product"))
}

func (in *instance) getOrder(w http.ResponseWriter, r *http.Request) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.write(w, r, in.orders[r.PathValue("order")])
}

// An order is one order while it is served.
type order struct {
	*instance
	id, product string
	quantity    int64
	// wait and work are parameters of the request.
	wait, work time.Duration
	// number counts the orders of the whole shop from 1, in order of arrival.
	number int

	// status and doc are the answer. A status of 0 sends none: the connection is cut.
	status int
	doc    map[string]any
	// left is the stock after the order.
	left int64
	// request lets tell wait for the client to hang up.
	request *http.Request

	lease map[string]any // nil if there was none
	trace []any
}

// decrease serves an order.
func (in *instance) decrease(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	o := &order{instance: in, id: r.Header.Get("X-Request-ID"), product: q.Get("product"), request: r}
	o.quantity, _ = strconv.ParseInt(q.Get("quantity"), 10, 64)
	o.wait, _ = time.ParseDuration(q.Get("wait"))
	o.work, _ = time.ParseDuration(q.Get("work"))
	in.mu.Lock()
	in.came++
	o.number = in.came
	in.mu.Unlock()
	if in.sell != nil {
		in.sell(o)
	} else {
		in.underLock(o)
	}
	in.record(o)
	if in.tell != nil {
		in.tell(o)
	}
	if o.status == 0 {
		panic(http.ErrAbortHandler)
	}
	w.WriteHeader(o.status)
	if o.doc != nil {
		_ = json.NewEncoder(w).Encode(o.doc)
	}
}

// underLock serves an order correctly, under the lock, for which it waits if the order may.
func (in *instance) underLock(o *order) {
	if o.wait > 0 {
		in.lock.Lock()
	} else if !in.lock.TryLock() {
		o.refuse(http.StatusLocked, "lock-busy", "somebody else holds the lock")
		return
	}
	defer in.lock.Unlock()
	o.acquire()
	left, enough := in.take(o.product, o.quantity)
	time.Sleep(o.work)
	o.release()
	o.answer(left, enough)
}

// answer sets the answer: sold, or sold out.
func (o *order) answer(left int64, enough bool) {
	if o.left = left; enough {
		o.sold(left)
	} else {
		o.refuse(http.StatusConflict, "sold-out", fmt.Sprintf("sold out: %d left", left))
	}
}

// acquire records that the order acquired the lock.
func (o *order) acquire() {
	o.command("set", "true")
	o.lease = map[string]any{"token": o.id, "fence": 0, "acquired_at": o.time(), "lost": false}
}

// release records that the order released the lock.
func (o *order) release() {
	o.lease["released_at"] = o.time()
	o.command("eval:release", "1")
}

// sold sets the answer to that of a sale which left that many units.
func (o *order) sold(left int64) {
	units := []int64{}
	for u := left + 1; u <= left+o.quantity; u++ {
		units = append(units, u)
	}
	o.status, o.doc = http.StatusOK, map[string]any{
		"product": o.product, "quantity": o.quantity, "left": left, "units": units,
		"instance": o.name, "order": o.id, "waited_ms": 0.5,
	}
	o.show()
}

// refuse sets the answer to a problem document.
func (o *order) refuse(status int, name, detail string) {
	o.status, o.doc = status, map[string]any{
		"type": "/problems/" + name, "title": name, "status": status, "detail": detail,
		"outcome": "not-sold", "order": o.id, "instance_name": o.name,
	}
	o.show()
}

// show puts the lease and the trace into the answer, if there are any.
func (o *order) show() {
	if o.lease != nil {
		o.doc["lease"], o.doc["trace"] = o.lease, o.trace
	}
}

// command records a command with the lock's key.
func (o *order) command(cmd, reply string) {
	at := o.time()
	o.trace = append(o.trace, map[string]any{
		"node": "memory", "cmd": cmd, "key": "lock:" + o.product, "at": at, "end": o.time(), "reply": reply,
	})
}

func (o *order) time() string { return o.now().Format(time.RFC3339Nano) }

// bigShop returns an instance of a shop with the article's rungs, whose work takes no time.
func bigShop() *instance {
	a, _ := newShop()
	a.name, a.rungs = "fake", []string{"v0", "v0.5", "v1", "v1.5", "v2", "v3", "v4", "v5", "v5-as-printed", "v6"}
	a.sell = func(o *order) {
		o.work = 0
		a.underLock(o)
	}
	return a
}

// sellsTwice changes answers to those of a shop that sells every tenth unit twice.
func sellsTwice(o *order) {
	if units, sold := o.doc["units"].([]int64); sold && units[0]%10 == 0 {
		units[0]++
	}
}
