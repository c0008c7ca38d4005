package record

import (
	"slices"

	"stockapi/loadtest/history"
	"stockapi/loadtest/trial/sale"
)

// A place is an order's entry behind others in a queue that is the lock, such as a sorted set of tokens. The order
// holds the lock once no earlier entry is left.
type place struct {
	own, ahead []string
	as         history.Effect   // that of the entry, which looks like an acquire beside other holders
	last       *history.Command // the entry, or the last look at the queue since then
}

// isBehind reports whether an earlier entry is among these.
func (p *place) isBehind(entries []string) bool {
	return slices.ContainsFunc(p.ahead, func(name string) bool { return slices.Contains(entries, name) })
}

// takePlaces clears the apparent acquires of an order that enters a queue behind others. The entry is a try, and so is
// each look at the queue that finds an earlier entry; the first that finds none is the acquire. Without such a look, as
// after a message, the order acquires the lock when it reads the stock as the first in the queue. One that writes the
// stock behind others is a holder beside them, and one that takes its entry back has done nothing.
func takePlaces(commands []Observation) {
	waits, has := map[string]*place{}, map[string]bool{}
	for i := range commands {
		c := &commands[i]
		var acquires []history.Command
		for j := range c.Effects {
			e := &c.Effects[j]
			acquires = append(acquires, comesFirst(waits, c, e)...)
			switch p := waits[e.Key]; {
			case p == nil && sale.Acquired(e) && !e.AcquiresAlone() && !has[e.Key]:
				waits[e.Key] = enter(c, e)
			case p != nil && p.isOver(c, e):
				delete(waits, e.Key)
				has[e.Key] = sale.Acquired(e)
			case p == nil:
				has[e.Key] = (has[e.Key] || sale.Acquired(e)) && !e.Releases()
			}
		}
		for _, e := range acquires {
			has[e.Key] = true
		}
		c.Effects = append(c.Effects, acquires...)
	}
}

// enter returns the place that an order takes by an effect of a command, which becomes a try.
func enter(c *Observation, e *history.Command) *place {
	own := slices.DeleteFunc(slices.Clone(c.After[e.Key]), func(name string) bool {
		return slices.Contains(c.Before[e.Key], name)
	})
	p := &place{own: own, ahead: c.Before[e.Key], as: e.Effect, last: e}
	e.Effect = history.EffectTried
	return p
}

// isOver reports whether the wait ends by an effect of a command: a look that is the acquire, or the removal of the
// order's entry, which does nothing.
func (p *place) isOver(c *Observation, e *history.Command) bool {
	isOwn := func(name string) bool { return slices.Contains(p.own, name) }
	switch {
	case e.Effect == history.EffectTried && p.isBehind(c.Before[e.Key]):
		p.last = e
		return false
	case e.Effect == history.EffectTried:
		e.Effect = p.as &^ history.Beside
		return true
	case e.Releases() && !slices.ContainsFunc(c.After[e.Key], isOwn):
		e.Effect = history.EffectNothing
		return true
	}
	return false
}

// comesFirst ends the wait of an order that reads or writes the stock. It returns its acquires by a read.
func comesFirst(waits map[string]*place, c *Observation, stock *history.Command) (acquires []history.Command) {
	if wrote := stock.WritesStock() && stock.Wrote(); !wrote && !stock.ReadsStock() {
		return nil
	}
	for key, p := range waits {
		switch {
		case !stock.WritesStock() && !p.isBehind(c.Before[key]):
			e := *stock
			e.Key, e.Effect = key, p.as&^history.Beside
			acquires = append(acquires, e)
			delete(waits, key)
		case stock.WritesStock():
			p.last.Effect = p.as
			delete(waits, key)
		}
	}
	return acquires
}
