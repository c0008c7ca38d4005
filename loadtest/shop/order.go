package shop

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"stockapi/loadtest/history"
)

// Order is one purchase as it is sent.
type Order struct {
	ID       string
	Rung     string
	Product  string
	Quantity int64
	// Items are the products to buy at once, one unit of each, in place of Product alone, which is one of them.
	Items []string
	// Wait is how long the service may wait for the lock, TTL the lock's, Work the time between read and write.
	Wait, TTL, Work time.Duration
	// Patience is how long the client waits for the answer. After that the outcome is unknown.
	Patience time.Duration
	// Fault is what is to go wrong with the order inside the instance, in stockapi's grammar. Empty: nothing.
	Fault string
	// Caller is who asks, 0 for somebody new; Nested lets the work take the order's own lock once more.
	Caller int64
	Nested bool
	// Reads makes it an order that buys nothing and reads the stock, under the lock that the rung's readers share.
	Reads bool
}

// Buy sends the order to the instance at base and returns what became of it, with times relative to start. It
// never fails: an order without an answer is an op with an unknown outcome.
func (c *Client) Buy(ctx context.Context, start time.Time, base string, o Order) history.Op {
	return c.buy(ctx, func() time.Time { return start }, base, o, nil)
}

// BuyAt does the same, but the order stands before the gate until that is opened. It calls ready when it stands there, or
// when it has failed to come so far, and its patience begins when the gate is opened. start is asked after that.
func (c *Client) BuyAt(ctx context.Context, gate *Gate, ready func(), start func() time.Time, base string, o Order) history.Op {
	h := &held{gate: gate, ready: ready}
	defer h.once.Do(ready)
	return c.buy(ctx, start, base, o, h)
}

func (c *Client) buy(ctx context.Context, start func() time.Time, base string, o Order, h *held) history.Op {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	patience := time.AfterFunc(o.Patience, func() { cancel(errPatience) })
	defer patience.Stop()
	op := history.Op{Order: o.ID, Quantity: o.Quantity, Done: history.Never}
	if h != nil {
		patience.Stop()
		h.let = func() { patience.Reset(o.Patience) }
	}
	w := &way{began: time.Now(), held: h}
	req, err := http.NewRequestWithContext(w.trace(ctx), o.method(), base+o.path(), http.NoBody)
	if err != nil {
		op.Outcome, op.Detail = history.NotSold, err.Error()
		return op
	}
	req.Header.Set("X-Request-ID", o.ID)
	if o.Fault != "" { // it takes the token, where there is one
		c.authorize(req)
	}
	status, body, err := c.do(req)
	received := time.Now()
	sent, left := w.sent()
	if h != nil && !left {
		h.once.Do(h.ready) // nobody need wait for it; but without it nobody knows when the cell began
	}
	op.Sent = history.At(start(), sent)
	switch {
	case err == nil:
		answered(&op, o.Product, start(), status, body)
	case left && !dialling(err):
		op.Status, op.Outcome, op.Detail = status, history.Unknown, err.Error()
	default:
		unsent(ctx, &op, err)
	}
	if op.Outcome != history.Unknown || err == nil {
		op.Done = history.At(start(), received)
	}
	return op
}

// errPatience is why an order is given up whose answer did not come.
var errPatience = fmt.Errorf("the client waited no longer: %w", context.DeadlineExceeded)

// way is how far an order came.
type way struct {
	began     time.Time
	connected atomic.Int64 // when it had a connection, in nanoseconds of Unix time; 0 if it never had
	held      *held        // nil if nothing holds it back
}

// trace follows the order as far as its connection, and has it held back there if it is to be. Only the first connection
// counts: net/http takes a second one if the first turns out to be closed, and by then something may have been sent.
func (w *way) trace(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(got httptrace.GotConnInfo) {
		if w.connected.CompareAndSwap(0, time.Now().UnixNano()) && w.held != nil {
			w.held.hold(got.Conn)
		}
	}})
}

// sent returns when the order was sent, or a little before, and whether it was. What never had a connection was not, and
// neither was what stood before a gate that never opened.
func (w *way) sent() (at time.Time, left bool) {
	connected := w.connected.Load()
	if connected != 0 && w.held != nil {
		connected = w.held.sent.Load()
	}
	if connected == 0 {
		return w.began, false
	}
	return time.Unix(0, connected), true
}

func (o Order) method() string {
	if o.Reads {
		return http.MethodGet
	}
	return http.MethodPost
}

func (o Order) path() string {
	q := url.Values{
		"trace": {"true"},
		"wait":  {o.Wait.String()}, "ttl": {o.TTL.String()}, "work": {o.Work.String()},
	}
	if o.Caller != 0 {
		q.Set("caller", strconv.FormatInt(o.Caller, 10))
	}
	if o.Nested {
		q.Set("nested", "true")
	}
	if o.Fault != "" {
		q.Set("fault", o.Fault)
	}
	if o.Reads {
		return "/" + o.Rung + "/stock/" + o.Product + "?" + q.Encode()
	}
	if len(o.Items) > 0 {
		q.Set("items", strings.Join(o.Items, ","))
	} else {
		q.Set("product", o.Product)
		q.Set("quantity", strconv.FormatInt(o.Quantity, 10))
	}
	return "/" + o.Rung + "/decrease?" + q.Encode()
}
