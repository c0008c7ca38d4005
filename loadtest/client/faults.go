package client

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
)

// CheckFault returns why an instance does not accept a fault of an order on a rung, nil if it does. It sends the fault
// in the query of an order that is always refused, as a real one could crash the instance: the body, which is read
// after the query, has a fault at a point that no rung has.
func (c *Client) CheckFault(ctx context.Context, base, rung, fault string) error {
	status, answer, err := c.ask(ctx, http.MethodPost,
		base+"/"+rung+"/decrease?fault="+url.QueryEscape(fault), `{"fault":"hold@before:nowhere"}`)
	if err != nil {
		return err
	}
	var p problem
	_ = json.Unmarshal(answer, &p) // anything else is described by its status
	switch {
	case strings.Contains(p.Detail, `"nowhere"`):
		return nil
	case status == http.StatusBadRequest:
		return errors.New(p.Detail) // in full: the reason is at its end
	}
	return errors.New(p.describe(status))
}

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

// EndHold ends the hold of an order.
func (c *Client) EndHold(ctx context.Context, base, order string) error {
	return c.call(ctx, http.MethodDelete, base+"/faults/"+url.PathEscape(order), "", nil)
}
