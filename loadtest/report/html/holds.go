package html

import (
	"cmp"
	"math"
	"slices"

	"stockapi/loadtest/history"
)

// lockKey is one lock key on one node, and the times in which orders had it.
type lockKey struct {
	node, key string
	holds     []*hold
	events    []event
	// Of a large cell, before and after are the last order that had the key before the drawn time, and the first after it.
	before, after *history.Op
}

// event is a command on a lock key, with the order that sent it.
type event struct {
	*history.Command
	op *history.Op
}

// hold is the time from a set-if-absent that succeeded to the key's end. Its owner or another order removed the key, or
// it was gone when the next set-if-absent succeeded, which proves that it expired or was lost. Known is the last moment
// at which a reply showed that the key existed.
type hold struct {
	op              *history.Op
	from, known, to float64
	how             ending
	by              *history.Op
}

type ending int

const (
	open    ending = iota // its end is unknown
	freed                 // removed by its owner
	stolen                // removed by another order
	expired               // gone when another order made it
)

// lockKeys finds the lock keys of a cell: every key that an order made and that is not the stock. Of a large cell it
// takes the holds that begin in the drawn time, and the last one before it. How that last one ended is a guess if the
// key was removed by an order that did not have it.
func lockKeys(c *history.Cell, w window) []*lockKey { return lockKeysOf(c, w, c.Len() <= maxWhole) }

func lockKeysOf(c *history.Cell, w window, whole bool) []*lockKey {
	f := &finder{drawn: w.span, byName: map[[2]string]*lockKey{}}
	for _, op := range c.All() {
		switch {
		case whole || w.focus[op.Order] || onLock(op).meets(w.span) && f.events < maxEvents:
			f.add(op)
		default:
			f.edge(op)
		}
	}
	for _, k := range f.keys {
		for _, op := range []*history.Op{k.before, k.after} {
			if op != nil {
				k.add(op)
			}
		}
	}
	keys := f.keys
	slices.SortStableFunc(keys, func(a, b *lockKey) int {
		return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.node, b.node))
	})
	for _, k := range keys {
		k.reconstruct()
	}
	return keys
}

const (
	// maxWhole is the largest number of orders of a cell whose lock commands are all kept. Of larger cells about maxEvents
	// commands are kept: a lane shows a few hundred.
	maxWhole  = 5000
	maxEvents = 5000
)

// finder collects lock keys.
type finder struct {
	drawn  span
	keys   []*lockKey
	byName map[[2]string]*lockKey
	events int
}

// key returns the lock key of a command, nil if it has none.
func (f *finder) key(cmd *history.Command) *lockKey {
	if !cmd.OnLock() {
		return nil
	}
	name := [2]string{cmd.Node, cmd.Key}
	if f.byName[name] == nil {
		f.byName[name] = &lockKey{node: cmd.Node, key: cmd.Key}
		f.keys = append(f.keys, f.byName[name])
	}
	return f.byName[name]
}

// add keeps the lock commands of an order.
func (f *finder) add(op *history.Op) {
	kept := *op
	for i := range kept.Trace {
		if k := f.key(&kept.Trace[i]); k != nil {
			k.events = append(k.events, event{&kept.Trace[i], &kept})
			f.events++
		}
	}
}

// edge keeps an order if it is the last one that had a key before the drawn time, or the first one after it.
func (f *finder) edge(op *history.Op) {
	for i := range op.Trace {
		cmd := &op.Trace[i]
		if !cmd.Acquires() || !cmd.Succeeded() || !cmd.End.Known() || !cmd.OnLock() {
			continue
		}
		k, at := f.key(cmd), float64(cmd.End)
		if at < f.drawn.lo && (k.before == nil || at > k.made(k.before)) {
			kept := *op
			k.before = &kept
		}
		if at > f.drawn.hi && (k.after == nil || at < k.made(k.after)) {
			kept := *op
			k.after = &kept
		}
	}
}

// made returns when an order last made the key.
func (k *lockKey) made(op *history.Op) float64 {
	at := math.Inf(-1)
	for i := range op.Trace {
		if cmd := &op.Trace[i]; k.is(cmd) && cmd.Acquires() && cmd.Succeeded() && cmd.End.Known() {
			at = max(at, float64(cmd.End))
		}
	}
	return at
}

func (k *lockKey) is(cmd *history.Command) bool {
	return cmd.OnLock() && cmd.Node == k.node && cmd.Key == k.key
}

// add keeps the commands that an order sent for this key.
func (k *lockKey) add(op *history.Op) {
	for i := range op.Trace {
		if k.is(&op.Trace[i]) {
			k.events = append(k.events, event{&op.Trace[i], op})
		}
	}
}

// onLock returns the time from an order's first command on a lock key to its last.
func onLock(op *history.Op) span {
	s := noSpan()
	for i := range op.Trace {
		if cmd := &op.Trace[i]; cmd.OnLock() {
			s.include(cmd.At, cmd.End)
		}
	}
	return s
}

// reconstruct derives the holds from the events.
func (k *lockKey) reconstruct() {
	slices.SortStableFunc(k.events, func(a, b event) int { return cmp.Compare(a.End, b.End) })
	for _, e := range k.events {
		if e.Acquires() && e.Succeeded() && e.End.Known() {
			k.holds = append(k.holds, &hold{op: e.op, from: float64(e.End), known: float64(e.End), to: math.Inf(1)})
		}
	}
	for i, h := range k.holds {
		var next *hold
		if i+1 < len(k.holds) {
			next = k.holds[i+1]
		}
		k.close(h, next)
	}
	k.steals()
	k.sightings()
}

// close ends a hold by its owner's own removal, unless the next hold surely began before that.
func (k *lockKey) close(h, next *hold) {
	for _, e := range k.events {
		if e.op == h.op && e.Releases() && e.Succeeded() && e.End.Known() && float64(e.End) >= h.from {
			if next != nil && next.from < float64(e.At) {
				break
			}
			h.to, h.how = float64(e.End), freed
			return
		}
	}
	if next != nil {
		h.to, h.how, h.by = max(next.from, h.from), expired, next.op
	}
}

// steals finds removals by orders whose own hold had expired: they removed the hold of that moment.
func (k *lockKey) steals() {
	for _, lost := range k.holds {
		if lost.how != expired {
			continue
		}
		for _, e := range k.events {
			if e.op != lost.op || !e.Releases() || !e.Succeeded() || !e.End.Known() {
				continue
			}
			for _, h := range k.holds {
				if h.op != e.op && h.from <= float64(e.At) && float64(e.At) < h.to {
					h.to, h.how, h.by = float64(e.End), stolen, e.op
				}
			}
		}
	}
}

// sightings moves known to the last reply that showed the key: a renewal, or a set-if-absent that was refused.
func (k *lockKey) sightings() {
	at := 0
	for _, e := range k.events {
		seen := e.Prolongs() && e.Succeeded() || e.Acquires() && e.Err == "" && !e.Succeeded()
		if !seen || !e.End.Known() {
			continue
		}
		for at+1 < len(k.holds) && k.holds[at+1].from <= float64(e.At) {
			at++
		}
		if len(k.holds) > 0 {
			if h := k.holds[at]; h.from <= float64(e.End) {
				h.known = min(max(h.known, float64(e.At)), h.to)
			}
		}
	}
}
