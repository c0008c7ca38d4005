package sale

import (
	"errors"
	"fmt"

	"stockapi/internal/lock"
	"stockapi/internal/stock"
)

// ErrOneProduct means that an order names several products, and the rung sells one product per order.
var ErrOneProduct = errors.New("this rung sells one product per order")

// ErrSeveralSlots means that an order names products whose stocks a Redis Cluster cannot write together.
var ErrSeveralSlots = errors.New("needs products of one slot")

// severalSlots returns ErrSeveralSlots for a rung.
func severalSlots(r lock.Rung) error {
	return fmt.Errorf("on Cluster %s %w", r.Number, ErrSeveralSlots)
}

// An Item reports how many units of one product an order sold.
type Item struct {
	Product  string  `json:"product"`
	Quantity int64   `json:"quantity"`
	Left     int64   `json:"left"`
	Units    []int64 `json:"units"`
}

// items returns the items of an order: one, unless it names several.
func (o Order) items() []stock.Item {
	if len(o.Items) > 0 {
		return o.Items
	}
	return []stock.Item{{Product: o.Product, Quantity: o.Quantity}}
}

// keys returns the keys of the locks that an order needs.
func (r *rung) keys(o Order) []string {
	items := o.items()
	keys := make([]string, len(items))
	for i, item := range items {
		keys[i] = r.Key(item.Product)
	}
	return keys
}

// sold records the units of an order. A receipt lists the items only if the order did.
func (r *Receipt) sold(o Order, left []int64) {
	for i, item := range o.Items {
		r.Items = append(r.Items, Item{Product: item.Product, Quantity: item.Quantity, Left: left[i],
			Units: Units(left[i], item.Quantity)})
	}
	r.Left, r.Units = left[0], Units(left[0], r.Quantity)
}

// Units returns the serial numbers of the units that an order sold, by how many it left.
func Units(left, quantity int64) []int64 {
	sold := make([]int64, quantity)
	for i := range sold {
		sold[i] = left + 1 + int64(i)
	}
	return sold
}
