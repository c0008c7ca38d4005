package record

import (
	"slices"
	"strings"
	"time"

	"stockapi/loadtest/history"
	"stockapi/loadtest/rig"
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

// Send sends a customer's order.
func (b *Bench) Send(name string, at int) *shop.Order {
	return b.Buy(name, at, history.Buy, b.Pair.Shop.Order, 0)
}

// BertUntil sends a customer's orders to an instance, again when one is refused, until one sells, something has
// happened, or the time is over. It returns the last order.
func (b *Bench) BertUntil(name string, at int, atMost time.Duration, happened <-chan struct{}) (o *shop.Order) {
	begun, late := time.Now(), time.After(atMost)
	_ = rig.Fresh(b.Pair.Context, atMost, func(number int) (over bool) {
		if number > 1 && time.Since(begun) > atMost {
			return true
		}
		o = b.Send(b.NextOf(name), at)
		select {
		case <-o.Done():
			return b.HasSold(o)
		case <-happened:
		case <-late:
		}
		return true
	})
	return o
}

// NextOf returns the name of a customer's next order.
func (b *Bench) NextOf(name string) string {
	n := 1
	for _, o := range b.Orders {
		if o.Name == name || strings.HasPrefix(o.Name, name+"-") {
			n++
		}
	}
	return shop.Nth(name, n)
}

// OrderOf returns the trial's order of one in flight.
func (b *Bench) OrderOf(of *rig.InFlight) *shop.Order {
	i := slices.IndexFunc(b.Orders, func(o *shop.Order) bool { return o.InFlight == of })
	if i < 0 {
		return nil
	}
	return b.Orders[i]
}

// OrderAt returns the order in flight at an instance, or else its last one, or else one that was not sent.
func (b *Bench) OrderAt(at int) (last *shop.Order) {
	for _, o := range b.Orders {
		if o.At == at && (last == nil || last.HasEnded()) {
			last = o
		}
	}
	if last == nil {
		return b.Pair.Shop.NewOrder("", at, history.Buy)
	}
	return last
}

// Later returns the later of two times.
func Later(x, y time.Time) time.Time {
	if x.After(y) {
		return x
	}
	return y
}
