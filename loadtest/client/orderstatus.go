package client

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	"stockapi/loadtest/history"
)

// Pending is the outcome of an order in flight.
const Pending history.Outcome = "pending"

// An OrderStatus is the answer to GET /orders/{id}.
type OrderStatus struct {
	Order    string          `json:"order"`
	Outcome  history.Outcome `json:"outcome"`
	Units    []int64         `json:"units"`
	Quantity int64           `json:"quantity"`
	// SoldBy is the order under whose lease it was served, "" if it had its own lease or none.
	SoldBy string `json:"sold_by"`
}

// Order asks an instance for the outcome of an order that was sent to it. The route is optional: an instance without
// it, or one that no longer knows the order, answers 404, which is an error.
func (c *Client) Order(ctx context.Context, base, id string) (OrderStatus, error) {
	var t OrderStatus
	if err := c.call(ctx, http.MethodGet, base+"/orders/"+url.PathEscape(id), "", &t); err != nil {
		return OrderStatus{}, err
	}
	switch t.Outcome {
	case history.Sold:
		if len(t.Units) == 0 || int64(len(t.Units)) != t.Quantity {
			return OrderStatus{}, fmt.Errorf("GET %s/orders/%s names %d units for a quantity of %d", base, id, len(t.Units),
				t.Quantity)
		}
	case history.Refused, history.NotSold, history.Busy, history.Unknown, Pending:
	default:
		return OrderStatus{}, fmt.Errorf("GET %s/orders/%s names an unknown outcome: %q", base, id, t.Outcome)
	}
	if t.Order != id {
		return OrderStatus{}, fmt.Errorf("GET %s/orders/%s describes order %q", base, id, t.Order)
	}
	return t, nil
}
