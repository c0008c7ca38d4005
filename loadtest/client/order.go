package client

import (
	"context"
	"fmt"
	"io"
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
	// Items are the products to buy at once, one unit of each. If set, they replace Product, which must be one of them.
	Items []string
	// Wait is the service's max wait for the lock, TTL the lock's TTL, Work the time between read and write.
	Wait, TTL, Work time.Duration
	// NoRenew asks the service not to renew the lease.
	NoRenew bool
	// Timeout bounds the client's wait for the answer. After that the outcome is unknown.
	Timeout time.Duration
	// Fault is the fault to inject into the order inside the instance, in stockapi's grammar. Empty: none.
	Fault string
	// Caller is the caller's number, 0 for a new caller. Nested makes the work acquire the order's own lock again.
	Caller int64
	Nested bool
	// Reads makes it an order that only reads the stock, under the rung's shared lock for readers.
	Reads bool
}

// Buy sends the order to the instance at base and returns the op, with times relative to start and the latency counted
// from due. It never fails: an order without an answer is an op with an unknown outcome.
func (c *Client) Buy(ctx context.Context, start, due time.Time, base string, o Order) history.Op {
	op := history.Op{Order: o.ID, Quantity: o.Quantity, Due: history.At(start, due), Done: history.Never}
	began := time.Now()
	req, err := o.request(ctx, base)
	if err != nil {
		op.Outcome, op.Detail = history.NotSold, err.Error()
		return op
	}
	if o.Fault != "" { // which needs the token, if the service has one
		c.authorize(req)
	}
	sent, status, body, err := c.send(req, o.Timeout)
	received := time.Now()
	wasSent := !sent.IsZero()
	if !wasSent {
		sent = began
	}
	op.Sent, op.Latency = history.At(start, sent), received.Sub(due)
	switch {
	case err == nil:
		Classify(&op, o.Product, start, status, body)
	case wasSent:
		op.Status, op.Outcome, op.Detail = status, history.Unknown, history.Clip(err.Error())
	default:
		classifyUnsent(&op, err)
	}
	if op.Outcome != history.Unknown || err == nil {
		op.Done = history.At(start, received)
	}
	return op
}

// errTimeout is the cause when the client gives up an order.
var errTimeout = fmt.Errorf("the client stopped waiting: %w", context.DeadlineExceeded)

func (o Order) request(ctx context.Context, base string) (*http.Request, error) {
	method, body := http.MethodPost, io.Reader(http.NoBody)
	if o.Reads {
		method, body = http.MethodGet, unrepeatable{}
	}
	req, err := http.NewRequestWithContext(ctx, method, base+o.path(), body)
	if err == nil {
		req.Header.Set("X-Request-ID", o.ID)
	}
	return req, err
}

func (o Order) path() string {
	q := url.Values{}
	q.Set("wait", o.Wait.String())
	q.Set("ttl", o.TTL.String())
	q.Set("work", o.Work.String())
	q.Set("trace", "true")
	if o.Caller != 0 {
		q.Set("caller", strconv.FormatInt(o.Caller, 10))
	}
	if o.NoRenew {
		q.Set("renew", "false")
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
	return "/" + o.Rung + "/decrease" + "?" + q.Encode()
}
