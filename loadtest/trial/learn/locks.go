package learn

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"stockapi/loadtest/history"
	"stockapi/loadtest/trial/record"
	"stockapi/loadtest/trial/shop"
	"stockapi/loadtest/wire"
)

// learnLocks learns which keys form the lock, and how it is acquired and released.
func learnLocks(b *record.Bench) (err error) {
	p := b.Passport
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
	if i := slices.IndexFunc(keys, isTooLarge); i >= 0 && len(p.Keys) == 0 {
		return fmt.Errorf("%w: %s has more than 64 KB, and a lock in it would not be seen: start the shop with a smaller one",
			shop.ErrShop, keys[i].String())
	}
	if err := describeAnew(b); err != nil {
		return err
	}
	return narrowLocks(b, sales, keys)
}

// isTooLarge reports whether the parts of a key are unknown although they may be a lock. A stream of events is hardly
// one; if it is, learnSharing finds that two orders share a lock.
func isTooLarge(l wire.Lock) bool { return l.Rest.Opaque && l.Rest.Kind != "stream" }

// narrowLocks drops what keeps no order out, and finds what names the holder.
func narrowLocks(b *record.Bench, sales []*plainSale, keys []wire.Lock) error {
	idle, err := dropsIdle(b)
	if err != nil {
		return err
	}
	if len(b.Passport.Keys) == 0 {
		findShortLease(b, sales, keys)
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
	now, err := wire.Snapshot(b.Pair.Context, b.Pair.Rig.Stores[0].Redis)
	for key := range written {
		rest, is := now[key]
		if _, was := b.AtFirst[key]; !is || !was && !rest.Ends.IsZero() {
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
	findOwn(b, sales, again && ofOther && len(locks) == 0)
}

// findOwn learns whether each instance, or else each order, has keys of its own. That matters if no key is a lock.
func findOwn(b *record.Bench, sales []*plainSale, ofInstance bool) {
	p := b.Passport
	switch {
	case ofInstance:
		p.Own = "instance"
	case len(sales[0].own) > 0 && len(sales[1].own) > 0 && len(sales[2].own) > 0:
		p.Own = "order"
		for _, key := range slices.DeleteFunc(slices.Clone(sales[2].own), func(key wire.Key) bool {
			return !b.Pair.Ledger.Claimed(key)
		}) {
			p.Claims, p.ClaimsProduct = true, p.ClaimsProduct || hasWord(key.Name, b.Pair.Shop.Product)
		}
	}
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

// makes returns the state of a key that a sale created with a TTL before it wrote the stock, nil if it did not, or
// removed the key before that.
func (s *plainSale) makes(key *wire.Lock) (made *wire.KeyState) {
	for _, c := range s.commands {
		before, after, looked := s.looker.States(c.Cmd, key.Key)
		switch {
		case looked && !before.Exists() && after.Exists() && !after.Ends.IsZero():
			made = cmp.Or(made, &after)
		case looked && before.Exists() && !after.Exists() && made != nil:
			return nil
		}
		if record.WritesStock(c) {
			return made
		}
	}
	return nil
}

func common(x, y []string) []string {
	return slices.DeleteFunc(slices.Clone(x), func(one string) bool { return !slices.Contains(y, one) })
}

// A keyCourse records the changes of a key's parts during a sale.
type keyCourse struct {
	rest, last  *wire.KeyState
	moved, back map[string]bool // names of the parts changed before the write of the stock, and of those changed back
	read, used  map[string]bool // of those changed at the last read of the stock, and at that or at its write
	wrote       bool            // the stock
}

// changes returns the names of the parts of a key that a sale changed before it wrote the stock, and changed back: what
// it held when it last read the stock before the write, or wrote it. If the stock is elsewhere, that is unknown.
func (s *plainSale) changes(key *wire.Lock) (names []string) {
	c := &keyCourse{rest: &key.Rest, moved: map[string]bool{}, back: map[string]bool{}, used: map[string]bool{}}
	blocked := false // a blocking command is not observed: its effect shows after the next one
	for _, one := range s.commands {
		before, after, looked := s.looker.States(one.Cmd, key.Key)
		held := c.held()
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
		blocked = !looked && (blocked || one.Blocks)
		maps.Copy(held, c.held()) // one command may take the lock and read, or write and release
		c.use(&one, held)
	}
	for name := range c.back {
		if c.last.Same(c.rest, name) && (c.used[name] || !c.wrote) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// held returns the names of the parts that are changed, and not yet changed back.
func (c *keyCourse) held() map[string]bool {
	held := map[string]bool{}
	for name := range c.moved {
		held[name] = c.last == nil || !c.last.Same(c.rest, name)
	}
	maps.DeleteFunc(held, func(_ string, is bool) bool { return !is })
	return held
}

// use adds what a command used the stock for, while those parts were held.
func (c *keyCourse) use(one *record.Observation, held map[string]bool) {
	switch {
	case record.WritesStock(*one) && !c.wrote:
		maps.Copy(c.used, c.read)
		maps.Copy(c.used, held)
		c.wrote = true
	case one.Did((*history.Command).ReadsStock):
		c.read = held
	}
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
	if key.Rest.Exists() {
		return false
	}
	var looks [][2]wire.KeyState
	for _, c := range s.commands {
		if before, after, looked := s.looker.States(c.Cmd, key.Key); looked {
			looks = append(looks, [2]wire.KeyState{before, after})
		}
	}
	return isTakenLate(looks)
}

// isTakenLate reports whether the first command that took a key, as the looks before and after each command show, came
// after others that found it there. Its TTL may also remove the key between the look before and the command.
func isTakenLate(looks [][2]wire.KeyState) bool {
	tried := false
	for _, look := range looks {
		before, after := look[0], look[1]
		expired := !before.Ends.IsZero() && !before.Ends.After(after.At)
		switch {
		case !after.Exists():
		case before.Exists() && !expired:
			tried = true
		default:
			return tried
		}
	}
	return false
}
