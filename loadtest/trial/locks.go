package trial

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"stockapi/loadtest/history"
	"stockapi/loadtest/trial/record"
	"stockapi/loadtest/trial/sale"
	"stockapi/loadtest/trial/shop"
	"stockapi/loadtest/wire"
)

// A lock is what each of three sales changes before it writes the stock, and changes back, provided that it keeps other
// orders from the stock meanwhile. Fences and order counters are no locks, since they are not changed back, nor is a
// gauge of orders in flight, which keeps no order out.

// learnLocks learns which keys form the lock, and how it is acquired and released.
func learnLocks(b *record.Bench) (err error) {
	p := b.Passport
	if p.Before, err = wire.Snapshot(b.Pair.Context, b.Pair.Stores[0].Redis); err != nil {
		return err
	}
	written, err := firstSales(b)
	if err != nil {
		return err
	}
	if err := learnLate(b); err != nil {
		return err
	}
	keys, err := atRest(b, written)
	if err != nil {
		return err
	}
	b.Pair.LookAt(keys)
	sales, err := plainSales(b)
	if err != nil {
		return err
	}
	for _, key := range keys {
		if !sales[0].letsExpire(&key) && sales[1].waitedFor(&key) && sales[2].waitedFor(&key) {
			return fmt.Errorf("%w: it never releases %s: each order waits for the expiry of the one before", shop.ErrShop,
				key.String())
		}
	}
	findLocks(b, sales, keys)
	findShortLease(b, sales, keys)
	p.LetsExpire = slices.ContainsFunc(p.Keys, func(l wire.Lock) bool { return sales[0].letsExpire(&l) })
	if i := slices.IndexFunc(keys, func(l wire.Lock) bool { return l.Rest.Opaque }); i >= 0 && len(p.Keys) == 0 {
		return fmt.Errorf("%w: %s has more than 64 KB, or is a stream, and a lock in it would not be seen: start the shop "+
			"with a smaller one", shop.ErrShop, keys[i].String())
	}
	if err := describeAnew(b); err != nil {
		return err
	}
	return narrowLocks(b, sales, keys)
}

// narrowLocks drops what keeps no order out, and finds what names the holder.
func narrowLocks(b *record.Bench, sales []*plainSale, keys []wire.Lock) error {
	idle, err := dropsIdle(b)
	if err != nil {
		return err
	}
	beside, err := findCompanions(b, sales, keys)
	if err != nil || !idle && !beside {
		return err
	}
	return describeAnew(b)
}

// describeAnew describes the current lock from three more sales.
func describeAnew(b *record.Bench) error {
	b.Pair.LookAt(b.Passport.Keys)
	sales, err := plainSales(b)
	if err == nil {
		*b.Passport = described(*b.Passport, sales, b.Pair.Shop)
	}
	return err
}

// atRest returns the written keys, with their states while no order is in flight. A key that waits for its TTL is
// absent at rest.
func atRest(b *record.Bench, written map[wire.Key]time.Time) (keys []wire.Lock, err error) {
	now, err := wire.Snapshot(b.Pair.Context, b.Pair.Stores[0].Redis)
	for key := range written {
		rest, is := now[key]
		if _, was := b.Passport.Before[key]; !is || !was && !rest.Ends.IsZero() {
			rest = wire.KeyState{Kind: "none"}
		}
		keys = append(keys, wire.Lock{Key: key, Rest: rest})
	}
	slices.SortFunc(keys, func(x, y wire.Lock) int { return cmp.Compare(x.String(), y.String()) })
	return keys, err
}

// findLocks finds the keys, or parts of keys, that each sale changed before it wrote the stock, and changed back.
func findLocks(b *record.Bench, sales []*plainSale, keys []wire.Lock) {
	p := b.Passport
	var locks []wire.Lock
	ofOther, again := false, false // the sale at b has such a key; both sales at a have one that the sale at b lacks
	for _, key := range keys {
		first, other, last := sales[0].changes(&key), sales[1].changes(&key), sales[2].changes(&key)
		both := len(first) > 0 && len(last) > 0
		ofOther = ofOther || len(other) > 0
		switch {
		case both && len(other) > 0:
			key.Parts = common(common(first, other), last)
			if len(key.Parts) == 0 || sales[2].queues(&key) {
				key.Parts = nil // each order has a name of its own there
			}
			locks = append(locks, key)
		case both:
			again = true
		}
	}
	p.SetKeys(locks)
	if len(locks) == 0 {
		findOwn(b, sales, again && ofOther)
	}
}

// findOwn learns whether each instance, or else each order, has keys of its own.
func findOwn(b *record.Bench, sales []*plainSale, ofInstance bool) {
	p := b.Passport
	switch {
	case ofInstance:
		p.Own = "instance"
	case len(sales[0].own) > 0 && len(sales[1].own) > 0 && len(sales[2].own) > 0:
		p.Own, p.Claims = "order", slices.ContainsFunc(sales[2].own, b.Pair.Ledger.Claimed)
	}
}

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
	case p.Own != "order" || !p.Claims:
	case b.Pair.Shop.CustomersDiffer():
		p.PerCustomer, p.Lost = true, one.lost
	case lost:
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
	defer b.Pair.Quiet(b.Pair.Context)
	e.tested = true
	if e.lease, err = longestTTL(b); err == nil {
		bert := b.Send("bert", at)
		bert.WaitFor(soon(b))
		e.kept = !hasWorked(b, bert)
		goOn()
		<-bert.Done()
		<-anna.Done()
		b.Pair.Quiet(b.Pair.Context)
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
		d := b.Pair.Ends[shop.AtA].Database
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
	now, err := wire.Snapshot(b.Pair.Context, b.Pair.Stores[0].Redis)
	for key, state := range now {
		ttl := state.Ends.Sub(keys[key]).Round(10 * time.Millisecond)
		if !state.Ends.IsZero() && keys[key].After(b.Cell.Start) && ttl <= sale.MostLease {
			longest = max(longest, ttl)
		}
	}
	return longest, err
}

// findShortLease finds a lock whose lease expires during a plain sale, so that no sale changes it back: a key that each
// sale created before it wrote the stock, and that keeps another order out. A cache keeps none out.
func findShortLease(b *record.Bench, sales []*plainSale, keys []wire.Lock) {
	p := b.Passport
	if len(p.Keys) > 0 || p.Own == "instance" {
		return
	}
	for _, key := range keys {
		if key.Rest.Exists() {
			continue
		}
		made := []*wire.KeyState{sales[0].makes(&key), sales[1].makes(&key), sales[2].makes(&key)}
		if slices.Contains(made, nil) {
			continue
		}
		if made[0].Kind == "string" {
			key.Parts = []string{""}
		}
		p.Held = map[wire.Key]wire.KeyState{key.Key: *made[2]}
		if p.SetKeys([]wire.Lock{key}); keepsOut(b, p.Keys) {
			return
		}
		p.SetKeys(nil)
	}
}

// makes returns the state of a key that a sale created with a TTL before it wrote the stock, nil if it did not.
func (s *plainSale) makes(key *wire.Lock) *wire.KeyState {
	for _, c := range s.commands {
		before, after, looked := s.looker.States(c.Cmd, key.Key)
		switch {
		case looked && !before.Exists() && after.Exists() && !after.Ends.IsZero():
			return &after
		case record.WritesStock(c):
			return nil
		}
	}
	return nil
}

func common(x, y []string) []string {
	return slices.DeleteFunc(slices.Clone(x), func(one string) bool { return !slices.Contains(y, one) })
}

// madeAndRemoved returns which of these keys an order created before its last write of the stock, and removed, and were
// not known before. It adds all the keys to known.
func madeAndRemoved(
	b *record.Bench, known, keys map[wire.Key]time.Time, writes []record.Written,
) (own []wire.Key, err error) {
	now, err := wire.Snapshot(b.Pair.Context, b.Pair.Stores[0].Redis)
	if err != nil {
		return nil, err
	}
	for key, at := range keys {
		if _, was := known[key]; was {
			continue
		}
		known[key] = at
		_, is := now[key]
		before := b.Pair.Shop.IsElsewhere() || len(writes) > 0 && at.Before(writes[len(writes)-1].At)
		if !is && before {
			own = append(own, key)
		}
	}
	return own, nil
}

// A keyCourse is how the parts of a key change while an order sells.
type keyCourse struct {
	rest, last  *wire.KeyState
	moved, back map[string]bool // names of the parts changed before the write of the stock, and of those changed back
	wrote       bool            // the stock
}

// changes returns the names of the parts of a key that a sale changed before it wrote the stock, and changed back.
func (s *plainSale) changes(key *wire.Lock) (names []string) {
	c := &keyCourse{rest: &key.Rest, moved: map[string]bool{}, back: map[string]bool{}}
	blocked := false // a blocking command is not observed: its effect shows after the next one
	for _, one := range s.commands {
		before, after, looked := s.looker.States(one.Cmd, key.Key)
		if looked {
			switch {
			case blocked && c.last == nil:
				c.see(c.rest, &before)
			case blocked:
				c.see(c.last, &before)
			case c.last == nil:
				c.rest = &before
			}
			c.see(&before, &after)
		}
		blocked = !looked && (blocked || s.looker.Blocks(one.Args))
		c.wrote = c.wrote || record.WritesStock(one)
	}
	for name := range c.back {
		if c.last.Same(c.rest, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// see adds the change that a command made.
func (c *keyCourse) see(from, to *wire.KeyState) {
	for _, name := range from.Differences(to) {
		switch {
		case from.Same(c.rest, name) && !c.wrote:
			c.moved[name] = true
		case c.moved[name] && to.Same(c.rest, name):
			c.back[name] = true
		}
	}
	c.last = to
}

// letsExpire reports whether a sale gave a key a shorter TTL after its write of the stock.
func (s *plainSale) letsExpire(key *wire.Lock) bool {
	wrote := false
	for _, c := range s.commands {
		before, after, looked := s.looker.States(c.Cmd, key.Key)
		ends := looked && !before.Ends.IsZero() && !after.Ends.IsZero()
		if wrote && ends && before.Ends.Sub(after.Ends) > 10*time.Millisecond {
			return true
		}
		wrote = wrote || record.WritesStock(c)
	}
	return false
}

// queues reports whether a key, which is absent at rest, was a list during a sale.
func (s *plainSale) queues(key *wire.Lock) bool {
	return !key.Rest.Exists() && slices.ContainsFunc(s.commands, func(c record.Observation) bool {
		_, after, looked := s.looker.States(c.Cmd, key.Key)
		return looked && after.Kind == "list"
	})
}

// waitedFor reports whether an order found the key of an earlier order, and proceeded once its TTL had removed it.
func (s *plainSale) waitedFor(key *wire.Lock) bool {
	tried := false
	for _, c := range s.commands {
		before, after, looked := s.looker.States(c.Cmd, key.Key)
		switch {
		case !looked || key.Rest.Exists():
		case before.Exists() && after.Exists():
			tried = true
		case !before.Exists() && after.Exists():
			return tried
		}
	}
	return false
}

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
	trap := b.Pair.SetTrap(b.ReplyOf(shop.AtA, last, time.Now()))
	anna, why := b.Anna(trap)
	var took time.Time
	if why == "" {
		commands := b.SentBy(shop.AtA) // all are Anna's
		took, err = record.AcquiredAt(commands), lookAtHeld(b, commands)
	}
	trap.GoOn()
	<-anna.Done()
	if err != nil || why != "" || !keepsOut(b, p.Keys) { // the expiry may be in the value
		return false, err
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

// findCompanions finds the keys, or parts of keys, that name the holder of the lock: each sale sets them before it
// writes the stock and looks at them again, and an order that finds another name there does not release the lock.
func findCompanions(b *record.Bench, sales []*plainSale, keys []wire.Lock) (found bool, err error) {
	p := b.Passport
	if len(p.Keys) != 1 || p.BeforeWrite() == nil {
		return false, nil
	}
	lock := p.Keys[0]
	for _, key := range keys {
		key.Parts = common(common(sales[0].names(&key), sales[1].names(&key)), sales[2].names(&key))
		if key.Key == lock.Key {
			key.Parts = slices.DeleteFunc(key.Parts, func(name string) bool {
				return lock.Parts == nil || slices.Contains(lock.Parts, name)
			})
		}
		if len(key.Parts) == 0 {
			continue
		}
		compares, err := comparesName(b, &key)
		if err != nil {
			return found, err
		}
		if compares {
			lock.Companions, found = append(lock.Companions, key), true
		}
	}
	if found {
		p.SetKeys([]wire.Lock{lock}) // a looker still uses the slice before
	}
	return found, nil
}

// names returns the parts of a key that a sale set before it wrote the stock, if it looked at the key after that.
func (s *plainSale) names(key *wire.Lock) (names []string) {
	wrote := false
	for _, c := range s.commands {
		for i := range c.Effects {
			e := &c.Effects[i]
			looks := e.Effect == history.EffectNothing || e.Wire != nil && e.Wire.Compared
			if looks && e.Key == key.Key.String() && len(names) > 0 {
				return names
			}
		}
		before, after, looked := s.looker.States(c.Cmd, key.Key)
		if wrote = wrote || record.WritesStock(c); looked && !wrote {
			for _, name := range before.Differences(&after) {
				if _, is := after.Parts[name]; is && !slices.Contains(names, name) {
					names = append(names, name)
				}
			}
		}
	}
	return nil
}

// comparesName reports whether an order keeps the lock if those parts of a key were given other values while it was at
// work: a release that compares them takes the lock for another order's.
func comparesName(b *record.Bench, key *wire.Lock) (compares bool, err error) {
	b.Begin("", "")
	if err := b.Pair.Put(b.Pair.Shop.UnitsFor(0)); err != nil {
		return false, err
	}
	anna, why, goOn := b.AnnaAtWork()
	if why != "" {
		goOn()
		<-anna.Done()
		return false, nil
	}
	undo, err := rename(b, key)
	goOn()
	<-anna.Done()
	b.Pair.Quiet(b.Pair.Context)
	lock := b.Passport.Keys[0]
	compares = err == nil && lock.Held(b.Pair.Looker.Load().Look()[lock.Key])
	return compares, errors.Join(err, undo(), b.Remove())
}

// rename gives parts of a key other values, and returns what undoes that: where an order has changed them meanwhile,
// they are at rest again.
func rename(b *record.Bench, key *wire.Lock) (undo func() error, err error) {
	var was, renamed wire.KeyState
	put := func(change func(*wire.KeyState)) error {
		return b.Pair.Alone(func(to *redis.Client) error {
			now, err := wire.Snapshot(b.Pair.Context, to)
			state, is := now[key.Key]
			if err != nil || !is {
				return err
			}
			change(&state)
			return wire.PutState(b.Pair.Context, to, key.Key, state)
		})
	}
	err = put(func(s *wire.KeyState) {
		was = *s
		s.Parts = maps.Clone(s.Parts)
		for _, name := range key.Parts {
			s.Parts[name] += "0" // a number stays a number
		}
		renamed = *s
	})
	return func() error {
		return put(func(s *wire.KeyState) {
			for _, name := range key.Parts {
				old, is := key.Rest.Parts[name]
				if key.Rest.Exists() && s.Parts[name] == renamed.Parts[name] {
					old, is = was.Parts[name], true
				}
				if s.Parts[name] = old; !is {
					delete(s.Parts, name)
				}
			}
		})
	}, err
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
	b.Pair.Quiet(b.Pair.Context)
	return kept, changed
}

// soon is enough time for a plain order to reach the stock, unless something keeps it out.
func soon(b *record.Bench) time.Duration { return 3*b.Passport.Takes + 200*time.Millisecond }
