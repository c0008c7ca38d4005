package contracttest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// Order is one order while it is served.
type Order struct {
	*Instance
	ID, Product string
	Quantity    int64
	// Wait and Work are parameters of the request.
	Wait, Work time.Duration
	// Number counts the orders of the whole shop from 1, as they came.
	Number int

	// Status and Doc are the answer. A status of 0 sends none: the connection is cut.
	Status int
	Doc    map[string]any
	// Left is the stock as the order left it.
	Left int64
	// Request is the request, for those that hold up its answer.
	Request *http.Request

	lease map[string]any
	trace []any
}

// decrease serves an order.
func (in *Instance) decrease(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	o := &Order{Instance: in, ID: r.Header.Get("X-Request-ID"), Product: q.Get("product"), Request: r,
		Number: in.arrived()}
	_, _ = fmt.Sscan(q.Get("quantity"), &o.Quantity)
	o.Wait, _ = time.ParseDuration(q.Get("wait"))
	o.Work, _ = time.ParseDuration(q.Get("work"))
	sell := in.Sell
	if sell == nil {
		sell = in.UnderLock
	}
	sell(o)
	in.record(o)
	if in.Tell != nil {
		in.Tell(o)
	}
	if o.Status == 0 {
		panic(http.ErrAbortHandler)
	}
	w.WriteHeader(o.Status)
	_ = json.NewEncoder(w).Encode(o.Doc)
}

// UnderLock serves an order as it should be: alone, if need be after it has waited for that.
func (in *Instance) UnderLock(o *Order) {
	if o.Wait > 0 {
		in.lock.Lock()
	} else if !in.lock.TryLock() {
		o.Refuse(http.StatusLocked, "lock-busy", "somebody else holds the lock")
		return
	}
	defer in.lock.Unlock()
	o.Acquire()
	left, enough := in.Take(o.Product, o.Quantity)
	time.Sleep(o.Work)
	o.Release()
	o.Left = left
	if enough {
		o.Sold(left)
	} else {
		o.Refuse(http.StatusConflict, "sold-out", fmt.Sprintf("sold out: %d left", left))
	}
}

// Acquire writes down that the order took the lock.
func (o *Order) Acquire() {
	o.Command("set", "true")
	o.lease = map[string]any{"token": o.ID, "fence": 0, "acquired_at": o.now(), "lost": false}
	if o.Fenced {
		o.lease["fence"] = o.Token()
	}
}

// Release writes down that the order gave the lock back.
func (o *Order) Release() {
	o.lease["released_at"] = o.now()
	o.Command("eval:release", "1")
}

// Sold makes the answer that of a sale which left so many units.
func (o *Order) Sold(left int64) {
	units := []int64{}
	for u := left + 1; u <= left+o.Quantity; u++ {
		units = append(units, u)
	}
	o.Status, o.Doc = http.StatusOK, map[string]any{
		"product": o.Product, "quantity": o.Quantity, "left": left, "units": units,
		"instance": o.Name, "order": o.ID, "waited_ms": 0.5,
	}
	o.Show()
}

// Refuse makes the answer a problem document.
func (o *Order) Refuse(status int, name, detail string) {
	o.Status, o.Doc = status, map[string]any{
		"type": "/problems/" + name, "title": name, "status": status, "detail": detail,
		"outcome": "not-sold", "order": o.ID, "instance_name": o.Name,
	}
	o.Show()
}

// Show puts the lease and the trace into the answer, if there are any.
func (o *Order) Show() {
	if o.lease != nil {
		o.Doc["lease"], o.Doc["trace"] = o.lease, o.trace
	}
}

// Lease is the lease of the answer, which has one.
func (o *Order) Lease() map[string]any { return o.lease }

// Hide leaves the lease and the trace out of the answer.
func (o *Order) Hide() {
	delete(o.Doc, "lease")
	delete(o.Doc, "trace")
}

// Command writes down a command that took a moment, with the lock's key.
func (o *Order) Command(cmd, reply string) {
	at := o.now()
	o.trace = append(o.trace, map[string]any{
		"node": "memory", "cmd": cmd, "key": "lock:" + o.Product, "at": at, "end": o.now(), "reply": reply,
	})
	if o.Doc["trace"] != nil {
		o.Doc["trace"] = o.trace
	}
}

func (o *Order) now() string { return o.Now().Format(time.RFC3339Nano) }
