package record

import (
	"cmp"
	"slices"
	"time"

	"stockapi/loadtest/history"
	"stockapi/loadtest/trial/sale"
	"stockapi/loadtest/trial/shop"
)

// attribute adds the commands of an instance to those of their orders. Of those that no order sent it keeps, under nil,
// the ones that changed a lock or the stock.
func (b *Bench) attribute(at int, commands []Observation, record map[*shop.Order][]Observation) {
	a := &attribution{bench: b, at: at, record: record, tokens: map[string]*shop.Order{}, values: map[string]bool{},
		alone: map[*shop.Order]bool{}, sentLate: map[*shop.Order]map[sale.Kind]bool{}}
	for _, c := range commands {
		o, sent := a.orderOf(&c)
		if !sent && !c.Did(changes) {
			continue
		}
		for i := range c.Effects {
			if wire := c.Effects[i].Wire; wire != nil {
				wire.Background = !sent
			}
		}
		a.follow(&c, o)
		record[o] = append(record[o], c)
	}
	if !b.Passport.Early {
		b.moveReleases(at, record)
	}
}

// moveReleases moves a release that an order seems to have sent before it wrote the stock to an open order of its
// instance that had written, and seems to have sent none: it names the token of another, since they share a variable.
func (b *Bench) moveReleases(at int, record map[*shop.Order][]Observation) {
	releases := func(c Observation) bool { return c.Did((*history.Command).Releases) && !WritesStock(c) }
	for _, to := range b.Orders {
		wrote := slices.IndexFunc(record[to], WritesStock)
		if to.At != at || wrote < 0 || slices.ContainsFunc(record[to], releases) {
			continue
		}
		for _, from := range b.Orders {
			sent := record[from]
			i := slices.IndexFunc(sent, releases)
			if from == to || from.At != at || i < 0 || !slices.ContainsFunc(sent[i:], WritesStock) ||
				slices.ContainsFunc(sent[:i], WritesStock) || !to.IsOpen(sent[i].Came) ||
				sent[i].Came.Before(record[to][wrote].Came) {
				continue
			}
			record[to] = append(record[to], sent[i])
			slices.SortStableFunc(record[to], func(x, y Observation) int { return x.Came.Compare(y.Came) })
			record[from] = slices.Delete(slices.Clone(sent), i, i+1)
			break
		}
	}
}

// An attribution assigns the commands of an instance to orders, one after the other.
type attribution struct {
	bench  *Bench
	at     int
	record map[*shop.Order][]Observation // of the orders so far
	tokens map[string]*shop.Order        // of the orders that have acquired the lock
	values map[string]bool               // digests of the lock's values that they set
	holder *shop.Order                   // the last to acquire the lock, if it was not released
	last   *shop.Order                   // the last to acquire the lock
	alone  map[*shop.Order]bool

	sentLate map[*shop.Order]map[sale.Kind]bool // the kinds of late commands that they have sent
}

// orderOf returns the order that a command belongs to, nil if that is unknown, and whether an order sent it rather than
// a background thread. The first rule that applies decides.
func (a *attribution) orderOf(c *Observation) (o *shop.Order, sent bool) {
	p, shape := a.bench.Passport, a.bench.Shape(&c.Seen)
	last, free, named := a.lastAt(c.Came), a.bench.onlyFree(a.at, c.Came), a.namedBy(c)
	renews := p.Renewals[shape]
	late, known := a.lateSender(c)
	switch {
	case known:
		return late, late != nil
	case last == nil: // no order was sent to the instance
		return nil, false
	case free != nil && !renews && !a.isOfNone(c, free): // the others wait
		return free, true
	case named != nil: // even after its end, such as a late renewal
		return named, true
	case a.isOfNone(c, last):
		return nil, false
	case renews && !p.Acquires[shape] && a.last != nil: // a waiter renews nothing
		return a.last, true
	case c.Did(isHolders) && a.holder != nil && a.holder.IsOpen(c.Came):
		return a.holder, true
	case !a.isAlone(last):
		return nil, true
	}
	unblocked, _ := a.bench.inFlight(a.at, c.Came)
	return a.oneOf(unblocked, last, c), true
}

// oneOf returns which of several free orders sent a command. One acquires after the other, so an acquire is that of the
// order without a lock so far that ended first, of those that sold if there are any. What is no acquire is the
// holder's. Anything else is the last order's.
func (a *attribution) oneOf(free []*shop.Order, last *shop.Order, c *Observation) *shop.Order {
	if len(free) < 2 {
		return last
	}
	if !c.Did(sale.Acquired) {
		if slices.Contains(free, a.holder) && !c.Did((*history.Command).Acquires) {
			return a.holder
		}
		return last
	}
	free = slices.DeleteFunc(free, func(o *shop.Order) bool { return !o.HasEnded() || !AcquiredAt(a.record[o]).IsZero() })
	if len(free) == 0 {
		return last
	}
	return slices.MinFunc(free, func(x, y *shop.Order) int {
		return cmp.Or(cmp.Compare(rank(x), rank(y)), x.Over.Compare(y.Over))
	})
}

// lastAt returns the last order that was sent to the instance by then or, once that is over, the only one still open.
func (a *attribution) lastAt(then time.Time) *shop.Order {
	last := a.bench.openAt(a.at, then)
	if last == nil || last.IsOpen(then) || !isOver(last, a.record[last], then) {
		return last
	}
	if open := slices.Concat(a.bench.inFlight(a.at, then)); len(open) == 1 {
		return open[0]
	}
	return last
}

// isOfNone reports whether a command that names no order's token is a background thread's rather than this order's: the
// shop sends such commands while no order is at work; or it has such threads, and no sale has sent such a release; or
// the release names the value that it removes, which no order of its instance has set, and this one holds nothing.
func (a *attribution) isOfNone(c *Observation, o *shop.Order) bool {
	p, shape := a.bench.Passport, a.bench.Shape(&c.Seen)
	switch {
	case p.Background[shape]:
		return true
	case !c.Did((*history.Command).Releases):
		return false
	case len(p.Background) > 0 && p.Usual(shape) == history.EffectNothing:
		return true
	}
	return p.Token && a.holder != o && c.Did(func(cmd *history.Command) bool {
		return cmd.Releases() && cmd.Wire != nil && slices.Contains(cmd.Wire.Named, cmd.Wire.Was) && !a.values[cmd.Wire.Was]
	})
}

// isAlone reports whether, when an order was sent, its instance no longer worked for a customer who had left.
func (a *attribution) isAlone(o *shop.Order) bool {
	if _, known := a.alone[o]; !known {
		a.alone[o] = a.bench.isAlone(o, a.record)
	}
	return a.alone[o]
}

// namedBy returns the order whose token a command names, nil if none. An acquire may name any value.
func (a *attribution) namedBy(c *Observation) *shop.Order {
	if c.Did((*history.Command).Acquires) || a.bench.Passport.Name {
		return nil
	}
	for _, arg := range c.Args {
		if owner := a.tokens[arg]; owner != nil {
			return owner
		}
	}
	return nil
}

// follow records that an order has acquired the lock, or that it was released.
func (a *attribution) follow(c *Observation, o *shop.Order) {
	if c.Did((*history.Command).Releases) {
		a.holder = nil
	}
	switch names := c.Did((*history.Command).Names); {
	case c.Did(sale.Acquired):
		a.last = o
		if c.Did((*history.Command).AcquiresAlone) { // else it may wait behind the holder
			a.holder = o
		}
	case !names || o != a.holder || len(c.Args) < 2:
		return
	}
	for i := range c.Effects {
		if e := &c.Effects[i]; sale.Acquired(e) || e.Names() {
			a.values[e.Gives()] = true
		}
	}
	p := a.bench.Passport
	for _, arg := range c.values() {
		if len(arg) >= leastToken && arg != a.bench.Pair.Shop.Shelf().Key && !p.OnLock(arg) && !p.IsPart(arg) {
			a.tokens[arg] = o
		}
	}
}

// openAt returns the last order that was sent to an instance by then, nil if none was.
func (b *Bench) openAt(at int, then time.Time) (last *shop.Order) {
	for _, o := range b.Orders {
		if o.At == at && !o.Sent.After(then) {
			last = o
		}
	}
	return last
}

// onlyFree returns the only order that can have sent a command at a time, since the others at its instance were
// blocked. It is nil if none was blocked, or several can have sent it.
func (b *Bench) onlyFree(at int, then time.Time) *shop.Order {
	free, blocked := b.inFlight(at, then)
	if len(blocked) == 0 || len(free) != 1 {
		return nil
	}
	return free[0]
}

// inFlight returns the orders that were in flight at an instance at a time: those that could send commands, and those
// that were blocked.
func (b *Bench) inFlight(at int, then time.Time) (free, blocked []*shop.Order) {
	for _, o := range b.Orders {
		switch {
		case o.At != at || o.Sent.After(then) || !o.IsOpen(then):
		case o.Blocked.Has(then):
			blocked = append(blocked, o)
		default:
			free = append(free, o)
		}
	}
	return free, blocked
}

// isAlone reports whether, when an order was sent, its instance no longer worked for a customer who had left.
func (b *Bench) isAlone(o *shop.Order, record map[*shop.Order][]Observation) bool {
	return !slices.ContainsFunc(b.Orders, func(other *shop.Order) bool {
		return other != o && other.At == o.At && other.Sent.Before(o.Sent) && other.HasEnded() && other.Left &&
			!isOver(other, record[other], o.Sent)
	})
}

// isOver reports whether an instance no longer worked at a time for an order whose customer had left: it had released
// the lock, or had never acquired it and sent nothing for the margin.
func isOver(o *shop.Order, commands []Observation, then time.Time) bool {
	last, took, released := o.Over, false, false
	for _, c := range commands {
		if c.Delivered.IsZero() || c.Delivered.After(then) {
			return false
		}
		last = Later(last, c.Delivered)
		if c.Did((*history.Command).Releases) {
			took, released = false, true
		}
		took = took || c.Did(sale.Acquired)
	}
	return !took && (released || then.Sub(last) >= sale.Margin)
}
