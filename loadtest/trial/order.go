package trial

import (
	"time"

	"stockapi/loadtest/history"
	"stockapi/loadtest/trial/shop"
)

// hasSold reports whether an order has ended with a sale as its answer. If every answer looks like one, its writes of
// the stock decide.
func (b *bench) hasSold(o *shop.Order) bool {
	return o.HasEnded() && o.Op.Outcome == history.Sold &&
		(!b.passport.ByWrites || b.hasWritten(o))
}

// plain puts the stock, and sends a plain order.
func (b *bench) plain(name string, at int) (*shop.Order, error) {
	if err := b.pair.Put(b.pair.Shop.UnitsFor(0)); err != nil {
		return nil, err
	}
	return b.buy(name, at, history.Buy, b.pair.Shop.Order, 0), nil
}

// buy sends an order.
func (b *bench) buy(name string, at int, phase history.Phase, how shop.Request, work time.Duration) *shop.Order {
	o := b.pair.Buy(name, at, phase, how, work, b.passport.HTTPTime())
	b.orders = append(b.orders, o)
	return o
}
