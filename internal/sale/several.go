package sale

import (
	"context"
	"errors"
	"fmt"

	"stockapi/internal/lock"
	"stockapi/internal/stock"
)

// ErrOneProduct says that an order names several products, and the rung sells one product per order.
var ErrOneProduct = errors.New("this rung sells one product per order")

// An Item reports how many units of one product an order sold.
type Item struct {
	Product  string  `json:"product"`
	Quantity int64   `json:"quantity"`
	Left     int64   `json:"left"`
	Units    []int64 `json:"units"`
}

// fits returns ErrOneProduct if an order names several products on a rung that cannot sell them.
func (r *rung) fits(o Order) error {
	if len(o.Items) > 0 && r.tryAll == nil {
		return fmt.Errorf("%w: %s takes no items", ErrOneProduct, r.Number)
	}
	return nil
}

// takeSeveral is take for an order of several products.
func (r *rung) takeSeveral(ctx, waiting context.Context, o Order) (*lock.Lease, error) {
	keys := make([]string, len(o.Items))
	for i, item := range o.Items {
		keys[i] = r.Key(item.Product)
	}
	attempt := func(ctx context.Context, keys ...string) (*lock.Lease, error) {
		return dropBusyTrace(ctx, func() (*lock.Lease, error) { return r.tryAll(ctx, keys, o.TTL) })
	}
	return r.gather(ctx, waiting, keys, r.maxWait(o), r.wait, attempt)
}

// sellSeveral is sell for an order of several products: all or none.
func (s *Shop) sellSeveral(r *rung, o Order, lease *lock.Lease, receipt *Receipt) error {
	left, err := s.shelf.SellAll(lease.Context, o.Items, s.work(r, o))
	if err != nil {
		return err
	}
	for i, item := range o.Items {
		receipt.Items = append(receipt.Items,
			Item{Product: item.Product, Quantity: item.Quantity, Left: left[i], Units: units(left[i], item.Quantity)})
	}
	receipt.Left, receipt.Units = left[0], receipt.Items[0].Units
	return nil
}

// first returns the first item of an order: the only one, unless the order names several products.
func (o Order) first() stock.Item {
	if len(o.Items) > 0 {
		return o.Items[0]
	}
	return stock.Item{Product: o.Product, Quantity: o.Quantity}
}
