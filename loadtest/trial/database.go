package trial

import (
	"cmp"
	"slices"
	"time"

	"stockapi/loadtest/history"
	"stockapi/loadtest/rig"
	"stockapi/loadtest/trial/sale"
	"stockapi/loadtest/trial/shop"
)

// follow sends plain orders to both instances until their requests to the database have one pattern, and follows that.
// Both instances are idle then.
func follow(b *Bench) (stable bool, err error) {
	b.Begin("", "")
	var sales [2][]int
	for range rig.MostSales {
		stable = true
		for at, e := range b.Pair.Ends {
			o, err := plainAt(b, at)
			if err != nil {
				return false, err
			}
			sales[at] = append(sales[at], o.InDatabase)
			p, known := rig.Learn(e.Database.Since(b.Cell.Start), sales[at])
			e.Database.Follow(p)
			stable = stable && known
		}
		if stable {
			return true, nil
		}
	}
	return false, nil
}

// plainAt sends a plain order to an instance, and waits until the instance is idle.
func plainAt(b *Bench, at int) (*shop.Order, error) {
	o, err := b.Plain("plain", at)
	if err != nil {
		return nil, err
	}
	<-o.Done()
	b.Pair.Quiet(b.Pair.Context)
	time.Sleep(50 * time.Millisecond) // a rollback may come after the answer
	b.Pair.Ends[at].Database.EndOrder()
	if o.Op.Outcome != history.Sold {
		return o, problem(b, o, nil)
	}
	return o, nil
}

// learnRequests learns what a plain sale sends to the database, and which of it under its lock.
func learnRequests(b *Bench) error {
	of := &b.Passport.ToDatabase
	if b.Pair.Shop.Database == "" {
		of.Why = "the shop's database is not proxied: give --db"
		return nil
	}
	b.Pair.Shop.Say("learning what a sale sends to the database…")
	stable, err := follow(b)
	if err != nil {
		return err
	}
	if !stable {
		of.Why = "plain sales show no fixed pattern of requests to the database"
		return nil
	}
	b.Begin("", "")
	o, err := plainAt(b, shop.AtA)
	if err != nil {
		return err
	}
	classifyRequests(of, b.Pair.Ends[shop.AtA].Database.Since(o.Sent), o.InDatabase, b.UnderLock(o))
	b.Passport.Requests = &history.Requests{Before: of.Before, Under: of.Under, After: of.After}
	return nil
}

// classifyRequests classifies the requests that a link recorded during a plain order, by the span in which it held its
// lock.
func classifyRequests(r *sale.Requests, pieces []rig.Piece, order int, held shop.Span) {
	answered := map[int]bool{}
	for _, p := range pieces {
		if p.Order == order && p.Number > 0 && p.Reply {
			answered[p.Number], r.Answered = true, max(r.Answered, p.Number)
		}
	}
	for _, p := range pieces {
		if p.Order != order || p.Number == 0 {
			continue
		}
		switch r.All = max(r.All, p.Number); {
		case p.Reply && held.Has(p.Began):
			r.Replies = append(r.Replies, p.Number)
		case p.Reply, !answered[p.Number]:
		case held.Has(p.Began):
			r.Under = append(r.Under, p.Number)
		case p.Began.After(held.To):
			r.After = append(r.After, p.Number)
		default:
			r.Before = append(r.Before, p.Number)
		}
	}
}

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
	d := b.Pair.Ends[o.At].Database
	if d == nil || slices.ContainsFunc(b.Orders, func(other *shop.Order) bool {
		return other != o && other.At == o.At && other.Sent.Before(o.Over) && o.Sent.Before(other.Over)
	}) {
		return false
	}
	return !slices.ContainsFunc(d.Since(o.Sent), func(p rig.Piece) bool { return p.Order == o.InDatabase && p.Number > 0 })
}

// requestsToDatabase returns what the orders of the cell have sent to the database, in order of arrival.
func (b *Bench) requestsToDatabase(record map[*shop.Order][]Observation) (all []history.Request) {
	for at, e := range b.Pair.Ends {
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
		r := history.Request{Instance: b.Pair.Ends[at].Name, Came: b.Since(p.Began), Sent: b.Since(p.PassedOn),
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

// watchAtWork learns whether the lock is renewed while an order is held at a request to the database: as long as the
// reply to its acquire is held, a client does not renew.
func watchAtWork(b *Bench) {
	p := b.Passport
	if len(p.Locks) == 0 || p.Every > 0 || b.Pair.Ends[shop.AtA].Database == nil || p.Lease() > sale.MostLease {
		return
	}
	b.Pair.Shop.Say("checking whether the lock is renewed…")
	b.Begin("", "")
	if b.Pair.Put(b.Pair.Shop.UnitsFor(0)) != nil {
		return
	}
	if b.Remove() != nil { // an order whose client gave up on its acquire may have left it
		return
	}
	anna, _, goOn := b.AnnaAtWork()
	b.Shown().Await(p.Lease(), anna.Done(), func() bool {
		took := b.TookFor(anna)
		ofAcquire := took + history.Instant(p.Lease()/10)
		return took.Known() && FirstAfter(ofAcquire, b.Shown().When(shop.AtA, (*history.Command).Prolongs)).Known()
	})
	notePeriod(b, anna)
	goOn()
	<-anna.Done()
	b.Pair.Quiet(b.Pair.Context)
}

// requestsOf returns the requests among pieces.
func requestsOf(pieces []rig.Piece) []rig.Piece {
	return slices.DeleteFunc(pieces, func(p rig.Piece) bool { return p.Reply })
}
