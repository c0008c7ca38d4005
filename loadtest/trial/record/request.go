package record

import (
	"cmp"
	"slices"
	"time"

	"stockapi/loadtest/history"
	"stockapi/loadtest/rig"
	"stockapi/loadtest/trial/shop"
)

// UnderLock returns the span in which an order held its lock, or that of the whole order if there is no lock.
func (b *Bench) UnderLock(o *shop.Order) shop.Span {
	held := shop.Span{From: o.Sent, To: time.Now()}
	for _, d := range EffectsOf(b.ByOrder()[o]) {
		switch {
		case d.Acquired():
			held.From = d.Delivered
		case d.Releases():
			held.To = d.Observation.Came
		}
	}
	return held
}

// sentNothing reports whether an order is known to have sent nothing to the database, as no other was in flight at its
// instance.
func (b *Bench) sentNothing(o *shop.Order) bool {
	d := b.Pair.Rig.Ends[o.At].Database
	if d == nil || slices.ContainsFunc(b.Orders, func(other *shop.Order) bool {
		return other != o && other.At == o.At && other.Sent.Before(o.Over) && o.Sent.Before(other.Over)
	}) {
		return false
	}
	return !slices.ContainsFunc(d.Since(o.Sent), func(p rig.Piece) bool { return p.Order == o.InDatabase && p.Number > 0 })
}

// requestsToDatabase returns what the orders of the cell have sent to the database, in order of arrival.
func (b *Bench) requestsToDatabase(record map[*shop.Order][]Observation) (all []history.Request) {
	for at, e := range b.Pair.Rig.Ends {
		if e.Database != nil {
			all = append(all, b.requestsAt(at, e.Database.Since(b.Cell.Start), record)...)
		}
	}
	slices.SortStableFunc(all, func(x, y history.Request) int { return cmp.Compare(x.Came, y.Came) })
	return all
}

// requestsAt returns the numbered requests among the pieces at an instance's link.
func (b *Bench) requestsAt(at int, pieces []rig.Piece, record map[*shop.Order][]Observation) (all []history.Request) {
	last := map[int]int{}   // on each connection
	mixed := map[int]bool{} // the orders at the link whose numbers may count those of others
	for _, p := range pieces {
		if p.Number == 0 {
			continue
		}
		if i, known := last[p.Conn]; p.Reply && known {
			all[i].Answered, all[i].Heard = b.Since(p.Began), b.Since(p.PassedOn)
		}
		if p.Reply {
			continue
		}
		r := history.Request{Instance: b.Pair.Rig.Ends[at].Name, Came: b.Since(p.Began), Sent: b.Since(p.PassedOn),
			Answered: history.Never, Heard: history.Never}
		o := b.senderOf(at, p.Began, record)
		if o != nil {
			r.Order = o.Op.Order
		}
		if mixed[p.Order] = mixed[p.Order] || o == nil || o.InDatabase != p.Order; !mixed[p.Order] {
			r.Number = p.Number
		}
		last[p.Conn] = len(all)
		all = append(all, r)
	}
	return all
}

// senderOf returns the order for which an instance sent a request at a time: the one in flight that was not blocked or,
// if all were over, the last. It is nil if it may be one of several.
func (b *Bench) senderOf(at int, then time.Time, record map[*shop.Order][]Observation) *shop.Order {
	sender := b.openAt(at, then)
	if free, _ := b.inFlight(at, then); len(free) == 1 {
		sender = free[0]
	} else if len(free) > 1 {
		return nil
	}
	if sender == nil || !b.isAlone(sender, record) {
		return nil
	}
	return sender
}
