package client

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

// HeldOrders lists the orders that a fault holds at a point of the instance.
func (c *Client) HeldOrders(ctx context.Context, base string) ([]string, error) {
	var f struct {
		Held []struct {
			Order string `json:"order"`
		} `json:"held"`
	}
	if err := c.call(ctx, http.MethodGet, base+"/faults", "", &f); err != nil {
		return nil, err
	}
	var orders []string
	for _, h := range f.Held {
		orders = append(orders, h.Order)
	}
	return orders, nil
}

// EndHold ends the hold of an order after a time.
func (c *Client) EndHold(ctx context.Context, base, order string, after time.Duration) error {
	return c.call(ctx, http.MethodDelete, base+"/faults/"+url.PathEscape(order)+"?after="+after.String(), "", nil)
}
