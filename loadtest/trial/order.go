package trial

import (
	"time"

	"stockapi/loadtest/history"
	"stockapi/loadtest/trial/shop"
)

// HasSold reports whether an order has ended with a sale as its answer. If every answer looks like one, its writes of
// the stock decide.
func (b *Bench) HasSold(o *shop.Order) bool {
	return o.HasEnded() && o.Op.Outcome == history.Sold &&
		(!b.Passport.ByWrites || b.HasWritten(o))
}

// Plain puts the stock, and sends a plain order.
func (b *Bench) Plain(name string, at int) (*shop.Order, error) {
	if err := b.Pair.Put(b.Pair.Shop.UnitsFor(0)); err != nil {
		return nil, err
	}
	return b.Buy(name, at, history.Buy, b.Pair.Shop.Order, 0), nil
}

// Buy sends an order.
func (b *Bench) Buy(name string, at int, phase history.Phase, how shop.Request, work time.Duration) *shop.Order {
	o := b.Pair.Buy(name, at, phase, how, work, b.Passport.HTTPTime())
	b.Orders = append(b.Orders, o)
	return o
}
