package learn

import (
	"slices"
	"time"

	"stockapi/loadtest/trial/record"
	"stockapi/loadtest/trial/sale"
	"stockapi/loadtest/trial/shop"
	"stockapi/loadtest/wire"
)

// dropsIdle drops the keys, or parts of a key, that keep no order out: even with one of them at rest and the others
// held, an order at b does not reach the stock. Gauges of orders in flight, queues of waiters, and what is changed back
// before the write are such keys. A key that is like another one stays, since a majority of several keys may be enough,
// and so does one of several nested locks.
func dropsIdle(b *record.Bench) (dropped bool, err error) {
	p := b.Passport
	last := p.BeforeWrite()
	several := len(p.Keys) > 1 || slices.ContainsFunc(p.Keys, func(l wire.Lock) bool { return len(l.Parts) > 1 })
	if !several || last == nil {
		return false, nil
	}
	b.Begin("", "")
	trap := b.Pair.Rig.SetTrap(b.ReplyOf(shop.AtA, last, time.Now()))
	anna, why := b.Anna(trap)
	var took time.Time
	if why == "" {
		commands := b.SentBy(shop.AtA) // all are Anna's
		took, err = record.AcquiredAt(commands), lookAtHeld(b, commands)
	}
	trap.GoOn()
	<-anna.Done()
	if err != nil || why != "" {
		return false, err
	}
	if !keepsOut(b, p.Keys) {
		return dropsHeld(p), nil
	}
	for _, idle := range slices.Clone(p.Keys) {
		others := slices.DeleteFunc(slices.Clone(p.Keys), func(l wire.Lock) bool { return l.Key == idle.Key })
		if len(others) > 0 && !slices.ContainsFunc(others, idle.IsLike) && keepsOut(b, others) && !isLock(b, idle) {
			p.SetKeys(others)
			dropped = true
			keepEnd(p, idle, took)
		}
	}
	for i := range p.Keys {
		dropped = dropsIdleParts(b, i, took) || dropped
	}
	return dropped, nil
}

// dropsHeld drops the keys that together have kept no order out, although they were held. The expiry may be in the
// value of another one.
func dropsHeld(p *sale.Passport) (dropped bool) {
	left := slices.DeleteFunc(slices.Clone(p.Keys), func(l wire.Lock) bool {
		state := p.Held[l.Key]
		return l.Held(state) && l.Deadline(&state).IsZero() && l.Start(&state).IsZero()
	})
	if len(left) == len(p.Keys) {
		return false
	}
	p.SetKeys(left)
	return true
}

// dropsIdleParts does the same for the parts of a key. The places of a list are not separate parts.
func dropsIdleParts(b *record.Bench, of int, took time.Time) (dropped bool) {
	p := b.Passport
	for _, idle := range slices.Clone(p.Keys[of].Parts) {
		before := p.Keys
		fewer := slices.Clone(before) // a looker still uses the slice before
		lock := &fewer[of]
		if lock.Rest.Kind == "list" || p.Held[lock.Key].Kind == "list" || len(lock.Parts) < 2 {
			return dropped
		}
		lock.Parts = slices.DeleteFunc(slices.Clone(lock.Parts), func(part string) bool { return part == idle })
		p.SetKeys(fewer)
		if !keepsOut(b, fewer) {
			p.SetKeys(before)
			continue
		}
		dropped = true
		keepEnd(p, wire.Lock{Key: lock.Key, Parts: []string{idle}, Rest: lock.Rest}, took)
	}
	return dropped
}

// keepEnd records that what keeps no order out names the end of a lease that was taken then, if the lock itself has
// none.
func keepEnd(p *sale.Passport, beside wire.Lock, took time.Time) {
	state := p.Held[beside.Key]
	if ends := beside.Deadline(&state); !ends.IsZero() && p.TTL == 0 && p.InValue == 0 {
		p.InValue, p.EndsIn = ends.Sub(took).Round(10*time.Millisecond), beside.Key.String()
		if p.OnLock(beside.Name) {
			p.EndsIn = beside.Parts[0]
		}
	}
}

// isLock reports whether a key is a lock on its own: held, it keeps an order out, twice, since an order may be slow. A
// queue of waiters is none: an order that waits joins it.
func isLock(b *record.Bench, key wire.Lock) bool {
	is := key.Held(b.Passport.Held[key.Key])
	for i := 0; i < 2 && is; i++ {
		kept, changed := meets(b, []wire.Lock{key})
		is = kept && !changed
	}
	return is
}

// keepsOut reports whether an order at b does not reach the stock while these keys of the lock are held, and the others
// at rest.
func keepsOut(b *record.Bench, locks []wire.Lock) bool {
	kept, _ := meets(b, locks)
	return kept
}

// meets reports whether these keys of the lock, held, keep an order at b from the stock, and whether it changed them.
func meets(b *record.Bench, locks []wire.Lock) (kept, changed bool) {
	held := map[wire.Key]wire.KeyState{}
	for _, l := range locks {
		held[l.Key] = b.Passport.Held[l.Key]
	}
	b.Begin("", "")
	if b.Pair.Put(b.Pair.Shop.UnitsFor(0)) != nil {
		return false, false
	}
	letGo, err := b.KeepLocks(held)
	if err != nil {
		return false, false
	}
	before := b.Pair.Looker.Load().Look()
	bert := b.Send("bert", shop.AtB)
	bert.WaitFor(soon(b))
	kept = !hasWorked(b, bert)
	after := b.Pair.Looker.Load().Look()
	for key := range held {
		was, is := before[key], after[key]
		changed = changed || len(was.Differences(&is)) > 0
	}
	if letGo(); b.Remove() != nil {
		return false, false
	}
	<-bert.Done()
	b.Pair.Rig.Quiet(b.Pair.Context)
	return kept, changed
}

// soon is enough time for a plain order to reach the stock, unless something keeps it out.
func soon(b *record.Bench) time.Duration { return 3*b.Passport.Takes + 200*time.Millisecond }
