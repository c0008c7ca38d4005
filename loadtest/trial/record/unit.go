package record

import (
	"cmp"
	"net/http"
	"slices"
	"time"

	"stockapi/loadtest/history"
	"stockapi/loadtest/trial/shop"
	"stockapi/loadtest/wire"
)

// A soldUnit is a unit that a write took.
type soldUnit struct {
	at   time.Time
	unit int64
}

// A Written is a write of the stock by an instance.
type Written struct {
	wire.StockWrite
	Instance int // the number of the instance
}

// unitsOf returns the units that each order took, by the writes of the stock as the Redis executed them: one that
// leaves n units took unit n+1. An order that writes the same number again has taken nothing more, and one that puts
// back what it took has taken nothing.
func (b *Bench) unitsOf(writes []Written, record map[*shop.Order][]Observation) map[*shop.Order][]int64 {
	units := map[*shop.Order][]int64{}
	for _, w := range writes {
		o := b.writerOf(w, record)
		if o == nil {
			continue
		}
		had := units[o]
		switch n := len(had); {
		case w.IsBack() || !w.Counts && n > 0 && w.After >= had[n-1]:
			units[o] = had[:max(0, n-1)]
		case !w.Counts && n > 0 && w.After+1 == had[n-1]: // it was sent again
		default:
			units[o] = append(had, w.After+1)
		}
	}
	return units
}

// unitsOfCrowd does the same for a crowd. A write belongs to an order of its instance that was open at the time and
// sold; of several, to the one answered first. If the stock never grew, a write may have taken several units, for
// several orders. One that took more units than there are orders is no batch of sales, and counts as one.
func (b *Bench) unitsOfCrowd(writes []Written) map[*shop.Order][]int64 {
	units := map[*shop.Order][]int64{}
	var takes [2][]soldUnit
	batches := !slices.ContainsFunc(writes, func(w Written) bool { return w.After > w.Before })
	for _, w := range writes {
		own := takes[w.Instance]
		if w.IsBack() {
			takes[w.Instance] = own[:max(0, len(own)-1)]
			continue
		}
		took := uint64(1)
		if batches && uint64(w.Before-w.After) <= uint64(len(b.Orders)) { // unsigned, the difference cannot overflow
			took = uint64(w.Before - w.After)
		}
		for i := range took {
			takes[w.Instance] = append(takes[w.Instance], soldUnit{at: w.At, unit: w.After + 1 + int64(i)})
		}
	}
	for at := range takes {
		b.match(takes[at], at, units)
	}
	return units
}

// IsBack reports whether a write put units back.
func (w *Written) IsBack() bool { return w.Counts && w.After > w.Before }

// writerOf returns the order that a write of the stock belongs to: the one whose command was in flight then.
func (b *Bench) writerOf(w Written, record map[*shop.Order][]Observation) *shop.Order {
	for _, o := range b.Orders {
		for _, c := range record[o] {
			if o.At == w.Instance && WritesStock(c) && !w.At.Before(c.Sent.Add(-time.Millisecond)) &&
				(c.Answered.IsZero() || !w.At.After(c.Answered.Add(time.Millisecond))) {
				return o
			}
		}
	}
	return nil
}

// match assigns the units that an instance's crowd took to its orders.
func (b *Bench) match(takes []soldUnit, at int, units map[*shop.Order][]int64) {
	var orders []*shop.Order
	for _, o := range b.Orders {
		if o.At == at && o.Op.Outcome != history.Busy && o.Op.Outcome != history.NotSold {
			orders = append(orders, o)
		}
	}
	slices.SortStableFunc(orders, func(x, y *shop.Order) int {
		return cmp.Or(cmp.Compare(rank(x), rank(y)), x.Ended.Compare(y.Ended))
	})
	for _, one := range takes {
		for _, o := range orders {
			accepted := o.Op.Status == http.StatusAccepted // its unit may be taken after the answer
			isOpen := accepted || (o.Ended.IsZero() || !o.Ended.Before(one.at))
			if len(units[o]) == 0 && !o.Sent.After(one.at) && isOpen {
				units[o] = []int64{one.unit}
				break
			}
		}
	}
}

// rank orders those that sold before those with an unknown outcome.
func rank(o *shop.Order) int {
	if o.Op.Outcome == history.Sold {
		return 0
	}
	return 1
}
