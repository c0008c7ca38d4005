package client

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"stockapi/loadtest/history"
)

// An Order is one purchase as it is sent.
type Order struct {
	ID       string
	Rung     string
	Product  string
	Quantity int64
	// Items are the products to buy at once, one unit of each, instead of Product alone, which is one of them.
	Items []string
	// Wait is the service's max wait for the lock, TTL the lock's TTL, Work the time between read and write.
	Wait, TTL, Work time.Duration
	// NoRenew asks the service not to renew the lease.
	NoRenew bool
	// Timeout bounds the client's wait for the answer. After that the outcome is unknown.
	Timeout time.Duration
	// Fault is the fault to inject into the order inside the instance, in stockapi's grammar. Empty: none.
	Fault string
	// Caller is the caller's number, 0 for a new caller. Nested makes the work take the order's own lock once more.
	Caller int64
	Nested bool
	// Shard is the shard to begin with; nil: the service chooses.
	Shard *int
	// Untraced asks for no list of its commands.
	Untraced bool
	// Reads makes it an order that buys nothing and reads the stock, under the lock that the rung's readers share.
	Reads bool
}

// Buy sends the order to the instance at base and returns the op, with times relative to start, and the latency counted
// from the call. It never fails: an order without an answer is an op with an unknown outcome.
func (c *Client) Buy(ctx context.Context, start time.Time, base string, o Order) history.Op {
	return c.buy(ctx, func() time.Time { return start }, base, o, nil)
}

// BuyAt does the same, but the order waits at the gate until that opens. It calls ready when the order waits there or
// has failed. The order's timeout and its latency begin when the gate opens, and start is called after that.
func (c *Client) BuyAt(ctx context.Context, gate *Gate, ready func(), start func() time.Time, base string,
	o Order) history.Op {
	h := &gatedOrder{gate: gate, ready: ready}
	defer h.once.Do(ready)
	return c.buy(ctx, start, base, o, h)
}

func (c *Client) buy(ctx context.Context, start func() time.Time, base string, o Order, h *gatedOrder) history.Op {
	op := history.Op{Order: o.ID, Quantity: o.Quantity, Done: history.Never}
	began := time.Now()
	req, err := http.NewRequestWithContext(ctx, o.method(), base+o.path(), http.NoBody)
	if err != nil {
		op.Outcome, op.Detail = history.NotSold, err.Error()
		return op
	}
	req.Header.Set("X-Request-ID", o.ID)
	if o.Fault != "" { // it takes the token, where there is one
		c.authorize(req)
	}
	sent, status, body, err := c.pool.do(req, o.Timeout, h)
	received := time.Now()
	wasSent := !sent.IsZero()
	if !wasSent {
		sent = began
	}
	if h != nil && !wasSent {
		h.once.Do(h.ready) // nobody need wait for this order; start still has to be known
	}
	op.Sent, op.Latency = history.At(start(), sent), received.Sub(began)
	if h != nil {
		op.Latency = max(0, received.Sub(start()))
	}
	switch {
	case err == nil:
		classify(&op, o.Product, start(), status, body)
	case wasSent:
		op.Status, op.Outcome, op.Detail = status, history.Unknown, history.Clip(err.Error())
	default:
		classifyUnsent(&op, err)
	}
	if op.Outcome != history.Unknown || err == nil {
		op.Done = history.At(start(), received)
	}
	return op
}

// errTimeout is the cause when the client gives up an order.
var errTimeout = fmt.Errorf("the client waited no longer: %w", context.DeadlineExceeded)

func (o Order) method() string {
	if o.Reads {
		return http.MethodGet
	}
	return http.MethodPost
}

func (o Order) path() string {
	var q query
	q.add("wait", o.Wait.String())
	q.add("ttl", o.TTL.String())
	q.add("work", o.Work.String())
	if !o.Untraced {
		q.add("trace", "true")
	}
	if o.Caller != 0 {
		q.add("caller", strconv.FormatInt(o.Caller, 10))
	}
	if o.NoRenew {
		q.add("renew", "false")
	}
	if o.Nested {
		q.add("nested", "true")
	}
	if o.Fault != "" {
		q.add("fault", o.Fault)
	}
	if o.Shard != nil {
		q.add("shard", strconv.Itoa(*o.Shard))
	}
	if o.Reads {
		return "/" + o.Rung + "/stock/" + o.Product + q.String()
	}
	if len(o.Items) > 0 {
		q.add("items", strings.Join(o.Items, ","))
	} else {
		q.add("product", o.Product)
		q.add("quantity", strconv.FormatInt(o.Quantity, 10))
	}
	return "/" + o.Rung + "/decrease" + q.String()
}

// A query is the query of a URL. It is built in the order of its parameters, as url.Values would have to sort them for
// each order.
type query struct{ strings.Builder }

func (q *query) add(key, value string) {
	if q.Len() == 0 {
		q.Grow(128)
		q.WriteByte('?')
	} else {
		q.WriteByte('&')
	}
	q.WriteString(key)
	q.WriteByte('=')
	q.WriteString(url.QueryEscape(value))
}
