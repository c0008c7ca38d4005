package shop

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"
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
	ctx, cancel := context.WithTimeout(ctx, o.Patience)
	defer cancel()
	op := history.Op{Order: o.ID, Quantity: o.Quantity, Done: history.Never}
	req, err := http.NewRequestWithContext(ctx, o.method(), base+o.path(), http.NoBody)
	if err != nil {
		op.Outcome, op.Detail = history.NotSold, err.Error()
		return op
	}
	req.Header.Set("X-Request-ID", o.ID)
	if o.Fault != "" { // it takes the token, where there is one
		c.authorize(req)
	}
	op.Sent = history.At(start, time.Now())
	status, body, err := c.do(req)
	received := time.Now()
	if err != nil {
		unanswered(&op, status, err)
	} else {
		answered(&op, o.Product, start, status, body)
	}
	if op.Outcome != history.Unknown || err == nil {
		op.Done = history.At(start, received)
	}
	return op
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
