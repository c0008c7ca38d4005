package record

import (
	"slices"
	"sync"
	"time"

	"stockapi/loadtest/history"
	"stockapi/loadtest/trial/sale"
	"stockapi/loadtest/trial/shop"
	"stockapi/loadtest/wire"
)

// Holders are what the commands of a cell have shown so far: since when orders of each instance hold the lock, and what
// they did to it and to the stock. They do not show which order it was: that takes the record, made at the end.
type Holders struct {
	mu      sync.Mutex
	start   time.Time // of the cell
	at      [2]holder
	changed chan struct{} // closed at the next change; nil: nobody waits
}

// A holder is the orders of an instance.
type holder struct {
	stakes []*stake
	steps  map[string]int    // failed steps of a counter that were not undone, by lock
	events []history.Command // the effects of its commands, and when these were sent
}

// A stake is an acquire that was not followed by a release. One behind others in a queue does not hold the lock yet.
type stake struct {
	place
	key   string
	since history.Instant // Never: it waits
	last  history.Instant // the entry, or the last look at the queue since then
}

// begin begins a cell. What arrived before is no part of it.
func (h *Holders) begin(start time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.start, h.at = start, [2]holder{}
}

// saw follows a command.
func (h *Holders) saw(s *wire.Sight) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if s.Came.Before(h.start) {
		return
	}
	of := &h.at[s.Client.Index]
	for i := range s.Effects {
		e := &s.Effects[i]
		e.At = history.At(h.start, s.Sent)
		of.follow(s, e, s.Stepped[i])
	}
	if h.changed != nil {
		close(h.changed)
		h.changed = nil
	}
}

// Since returns when an order of an instance last acquired a lock that none of its orders has released since, [Never]
// if none did. The lock may have been lost.
func (h *Holders) Since(at int) history.Instant {
	h.mu.Lock()
	defer h.mu.Unlock()
	since := history.Never
	for _, s := range h.at[at].stakes {
		if s.since.Known() && (!since.Known() || s.since > since) {
			since = s.since
		}
	}
	return since
}

// When returns when an instance sent the commands with such an effect, in the order of their execution.
func (h *Holders) When(at int, is func(*history.Command) bool) (all []history.Instant) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range h.at[at].events {
		if e := &h.at[at].events[i]; is(e) {
			all = append(all, e.At)
		}
	}
	return all
}

// Await waits until the commands have shown something, or stop is closed, for atMost.
func (h *Holders) Await(atMost time.Duration, stop <-chan struct{}, shown func() bool) {
	late := time.After(atMost)
	for {
		changed := h.change()
		if shown() {
			return
		}
		select {
		case <-changed:
		case <-stop:
			return
		case <-late:
			return
		}
	}
}

// change returns a channel that is closed at the next change.
func (h *Holders) change() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.changed == nil {
		h.changed = make(chan struct{})
	}
	return h.changed
}

// follow follows an effect of a command. A step of a counter is one that failed.
func (h *holder) follow(s *wire.Sight, e *history.Command, step bool) {
	switch {
	case sale.Acquired(e):
		h.acquire(s, e)
	case e.Releases():
		h.release(s, e)
	case e.Effect == history.EffectTried && step:
		if h.steps == nil {
			h.steps = map[string]int{}
		}
		h.steps[e.Key]++
		h.events = append(h.events, *e)
	case e.Effect == history.EffectTried, e.ReadsStock():
		h.look(s, e)
	case e.WritesStock():
		h.write(e)
	default:
		h.events = append(h.events, *e)
	}
}

// acquire follows an acquire. One beside other holders may be a place in a queue: see [takePlaces]. If the instance
// holds the lock, and the holders have no names, it is another part of it.
func (h *holder) acquire(s *wire.Sight, e *history.Command) {
	before, after := s.Before[e.Key], s.After[e.Key]
	own := slices.DeleteFunc(slices.Clone(after), func(name string) bool { return slices.Contains(before, name) })
	one := &stake{place: place{own: own, ahead: before, as: e.Effect}, key: e.Key, since: history.Never, last: e.At}
	if !e.AcquiresAlone() {
		h.note(history.EffectTried, one.key, e.At)
		if len(own) > 0 || !h.holds(e.Key) {
			h.stakes = append(h.stakes, one)
		}
		return
	}
	h.drop(func(other *stake) bool { return other.key == e.Key }) // it was gone
	delete(h.steps, e.Key)
	h.stakes = append(h.stakes, one)
	h.begins(one, e.At)
}

// begins records that a stake holds the lock since then.
func (h *holder) begins(one *stake, since history.Instant) {
	one.since = since
	h.note(history.EffectAcquired, one.key, since)
}

// note adds an effect that the looks alone do not show.
func (h *holder) note(effect history.Effect, key string, at history.Instant) {
	h.events = append(h.events, history.Command{Key: key, At: at, Source: history.Looked, Effect: effect})
}

// holds reports whether an order of the instance holds a lock.
func (h *holder) holds(key string) bool {
	return slices.ContainsFunc(h.stakes, func(one *stake) bool { return one.key == key && one.since.Known() })
}

func (h *holder) drop(is func(*stake) bool) { h.stakes = slices.DeleteFunc(h.stakes, is) }

// look follows a look at a lock, or a read of the stock: those in the queue with nobody before them hold the lock now.
func (h *holder) look(s *wire.Sight, e *history.Command) {
	h.events = append(h.events, *e)
	for _, one := range h.stakes {
		switch {
		case one.since.Known() || !e.ReadsStock() && one.key != e.Key:
		case !one.isBehind(s.Before[one.key]):
			h.begins(one, e.At)
		case !e.ReadsStock():
			one.last = e.At
		}
	}
}

// write follows a write of the stock. One behind others is by a holder beside them, unless the instance has another.
func (h *holder) write(e *history.Command) {
	h.events = append(h.events, *e)
	for _, one := range h.stakes {
		if e.Wrote() && !one.since.Known() && !h.holds(one.key) {
			h.begins(one, one.last)
		}
	}
}

// release follows a release. An order that undoes its own failed step of a counter, or leaves a queue, has released
// nothing.
func (h *holder) release(s *wire.Sight, e *history.Command) {
	if h.steps[e.Key] > 0 {
		h.steps[e.Key]--
		return
	}
	waited, held := false, false
	h.drop(func(one *stake) bool {
		stays := slices.ContainsFunc(one.own, func(name string) bool { return slices.Contains(s.After[e.Key], name) })
		if one.key != e.Key || stays {
			return false
		}
		waited, held = waited || !one.since.Known(), held || one.since.Known()
		return true
	})
	if held || !waited {
		h.events = append(h.events, *e)
	}
}

// Shown returns the holders, once the effects of all answered commands are known.
func (b *Bench) Shown() *Holders {
	if looker := b.Pair.Looker.Load(); looker != nil {
		looker.AwaitTurn()
	}
	return &b.holders
}

// TookFor returns when an instance first acquired the lock after an order was sent to it, [history.Never] if it has
// not. If several orders are in flight at the instance, it may be any one's.
func (b *Bench) TookFor(o *shop.Order) history.Instant {
	return FirstAfter(b.Since(o.Sent), b.Shown().When(o.At, sale.Acquired))
}

// ReleasedFor returns when an instance first released the lock after it had acquired it for an order: see
// [Bench.TookFor].
func (b *Bench) ReleasedFor(o *shop.Order) history.Instant {
	return FirstAfter(b.TookFor(o), b.Shown().When(o.At, (*history.Command).Releases))
}

// HasWritten reports whether the instance of an order has written the stock when that order may have sent the command:
// it was in flight and not blocked or, if none was in flight, it was the last one. Another order may have sent it, too.
func (b *Bench) HasWritten(o *shop.Order) bool {
	return len(b.Shown().When(o.At, func(c *history.Command) bool {
		if !c.WritesStock() {
			return false
		}
		then := b.Cell.Start.Add(time.Duration(c.At))
		free, _ := b.inFlight(o.At, then)
		return slices.Contains(free, o) || len(free) == 0 && b.openAt(o.At, then) == o
	})) > 0
}

// FirstAfter returns the first time after another one, [history.Never] if there is none.
func FirstAfter(then history.Instant, all []history.Instant) history.Instant {
	if i := slices.IndexFunc(all, func(at history.Instant) bool { return at > then }); i >= 0 {
		return all[i]
	}
	return history.Never
}

// WorkedUntil returns when an order ended: at its answer or, if its customer had left, when its instance last released
// the lock.
func (b *Bench) WorkedUntil(o *shop.Order) (end time.Time) {
	end = o.Over
	if !o.Left {
		return end
	}
	for _, then := range b.Shown().When(o.At, (*history.Command).Releases) {
		end = Later(end, b.Cell.Start.Add(time.Duration(then)))
	}
	return end
}

// WaitsForLock reports whether an order waits for the lock: the last that its instance did with that was a try that
// was refused, and it does not hold the lock; or a command of its is blocked at the server.
func (b *Bench) WaitsForLock(o *shop.Order) bool {
	if b.isBlocked(o.At) {
		return true
	}
	b.Shown()
	b.holders.mu.Lock()
	defer b.holders.mu.Unlock()
	h := &b.holders.at[o.At]
	n := len(h.events)
	return n > 0 && h.events[n-1].Effect == history.EffectTried && h.events[n-1].At >= b.Since(o.Sent) &&
		!slices.ContainsFunc(h.stakes, func(one *stake) bool { return one.since.Known() })
}

// isBlocked reports whether a command of an instance is blocked at the server.
func (b *Bench) isBlocked(at int) (blocked bool) {
	b.Pair.Rig.Gate.Each(func(cmd *wire.Command) {
		blocked = blocked || cmd.Client.Index == at && cmd.State == wire.Sent && !cmd.Came.Before(b.Cell.Start) &&
			cmd.Blocks
	})
	return blocked
}
