package learn

import (
	"slices"
	"time"

	"stockapi/loadtest/history"
	"stockapi/loadtest/rig"
	"stockapi/loadtest/trial/record"
	"stockapi/loadtest/trial/sale"
	"stockapi/loadtest/trial/shop"
)

// follow sends plain orders to both instances until their requests to the database have one pattern, and follows that.
// Both instances are idle then.
func follow(b *record.Bench) (stable bool, err error) {
	b.Begin("", "")
	var sales [2][]int
	for range rig.MostSales {
		stable = true
		for at, e := range b.Pair.Rig.Ends {
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
func plainAt(b *record.Bench, at int) (*shop.Order, error) {
	o, err := b.Plain("plain", at)
	if err != nil {
		return nil, err
	}
	<-o.Done()
	b.Pair.Rig.Quiet(b.Pair.Context)
	time.Sleep(50 * time.Millisecond) // a rollback may come after the answer
	b.Pair.Rig.Ends[at].Database.EndOrder()
	if o.Op.Outcome != history.Sold {
		return o, problem(b, o, nil)
	}
	return o, nil
}

// learnRequests learns what a plain sale sends to the database, and which of it under its lock.
func learnRequests(b *record.Bench) error {
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
	classifyRequests(of, b.Pair.Rig.Ends[shop.AtA].Database.Since(o.Sent), o.InDatabase, b.UnderLock(o))
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

// watchAtWork learns whether the lock is renewed while an order is held at a request to the database: as long as the
// reply to its acquire is held, a client does not renew.
func watchAtWork(b *record.Bench) {
	p := b.Passport
	if len(p.Locks) == 0 || p.Every > 0 || b.Pair.Rig.Ends[shop.AtA].Database == nil || p.Lease() > sale.MostLease {
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
		return took.Known() && record.FirstAfter(ofAcquire, b.Shown().When(shop.AtA, (*history.Command).Prolongs)).Known()
	})
	notePeriod(b, anna)
	goOn()
	<-anna.Done()
	b.Pair.Rig.Quiet(b.Pair.Context)
}

// requestsOf returns the requests among pieces.
func requestsOf(pieces []rig.Piece) []rig.Piece {
	return slices.DeleteFunc(pieces, func(p rig.Piece) bool { return p.Reply })
}
