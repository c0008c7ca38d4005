package learn

import (
	"time"

	"stockapi/loadtest/trial/record"
	"stockapi/loadtest/trial/sale"
	"stockapi/loadtest/trial/shop"
	"stockapi/loadtest/wire"
)

// learnSharing learns, if no lock was found, whether two orders share one all the same: an order that does not reach
// the stock while another one is held before its write, twice, is kept out by a lock, whatever its form.
func learnSharing(b *record.Bench) error {
	p := b.Passport
	if len(p.Locks) > 0 || p.Early {
		return nil
	}
	one, err := besideHeld(b, shop.AtB)
	if err == nil && one.kept {
		one, err = besideHeld(b, shop.AtB)
	}
	switch {
	case err != nil || !one.tested:
		return err
	case one.kept:
		p.Unseen, p.TTL = true, one.lease
		return nil
	}
	return learnOwn(b, one)
}

// learnOwn learns whether keys of an order's or an instance's own are locks of its own: they are used like locks, and
// two orders that met took one unit.
func learnOwn(b *record.Bench, one encounter) (err error) {
	p := b.Passport
	lost := one.lost || p.Elsewhere // there Anna is held before she reads the stock, and the cells show what is lost
	switch {
	case p.Own == "instance" && lost:
		if one, err = besideHeld(b, shop.AtA); err == nil && one.kept {
			p.Apart = p.Own
		}
	case p.Own != "order" || !p.Claims, one.lost && !p.ClaimsProduct:
	case b.Pair.Shop.CustomersDiffer():
		p.PerCustomer, p.Lost = true, one.lost
	case lost && p.ClaimsProduct:
		p.Apart = p.Own
	}
	return err
}

// An encounter is what an order met while another one was held before its write.
type encounter struct {
	tested bool          // there was such an order
	kept   bool          // the other one did not reach the stock
	lost   bool          // both sold, and took one unit
	lease  time.Duration // the longest TTL of a key that the held order had created; 0: none
}

// besideHeld sends an order to an instance while Anna's, at a, is held before its write.
func besideHeld(b *record.Bench, at int) (e encounter, err error) {
	p := b.Passport
	b.Begin("", "")
	if err := b.Pair.Put(b.Pair.Shop.UnitsFor(0)); err != nil {
		return e, err
	}
	anna, goOn := holdAtWork(b)
	if anna == nil {
		return e, nil
	}
	defer b.Pair.Rig.Quiet(b.Pair.Context)
	e.tested = true
	if e.lease, err = longestTTL(b); err == nil {
		bert := b.Send("bert", at)
		bert.WaitFor(soon(b))
		e.kept = !hasWorked(b, bert)
		goOn()
		<-bert.Done()
		<-anna.Done()
		b.Pair.Rig.Quiet(b.Pair.Context)
		if !p.Elsewhere && err == nil {
			var left int64
			left, err = b.Pair.UnitsLeft()
			e.lost = b.HasSold(anna) && b.HasSold(bert) && left == b.Pair.Shop.UnitsFor(0)-1
		}
		return e, err
	}
	goOn()
	<-anna.Done()
	return e, err
}

// holdAtWork sends Anna's order to a, and holds it before its write, or at its first request to the database. It
// returns nil if that is impossible.
func holdAtWork(b *record.Bench) (anna *shop.Order, goOn func()) {
	p := b.Passport
	if p.Elsewhere {
		if len(p.ToDatabase.Under) == 0 {
			return nil, nil
		}
		d := b.Pair.Rig.Ends[shop.AtA].Database
		t := d.Trap(d.NextOrder(), p.ToDatabase.Under[0], false)
		anna = b.Send("anna", shop.AtA)
		select {
		case <-t.Caught():
		case <-anna.Done():
		}
		return anna, t.GoOn
	}
	if p.BeforeWrite() == nil {
		return nil, nil
	}
	anna, why, goOn := b.AnnaAtWork()
	if why != "" {
		goOn()
		<-anna.Done()
		return nil, nil
	}
	return anna, goOn
}

// longestTTL returns the longest TTL of the keys that the orders of the cell have created. Those of a session or a
// cache are longer than a lease.
func longestTTL(b *record.Bench) (longest time.Duration, err error) {
	_, keys, err := b.Pair.Ledger.Writes(b.Pair.Context)
	if err != nil {
		return 0, err
	}
	now, err := wire.Snapshot(b.Pair.Context, b.Pair.Rig.Stores[0].Redis)
	for key, state := range now {
		ttl := state.Ends.Sub(keys[key]).Round(10 * time.Millisecond)
		if !state.Ends.IsZero() && keys[key].After(b.Cell.Start) && ttl <= sale.MostLease {
			longest = max(longest, ttl)
		}
	}
	return longest, err
}
