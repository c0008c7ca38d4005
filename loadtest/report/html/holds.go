package html

import (
	"cmp"
	"math"
	"slices"

	"stockapi/loadtest/history"
)

// lockKey is one lock key on one node, and who held it when.
type lockKey struct {
	node, key string
	holds     []*hold
	events    []event
}

// event is a command on a lock key with the order that sent it.
type event struct {
	*history.Command
	op *history.Op
}

// hold is the time from a set-if-absent that succeeded to the key's end: removed, by its owner or by another, or
// gone by the time that the next one succeeded, which proves that it expired or was lost. Known is the last
// moment at which a reply showed that it was there.
type hold struct {
	op              *history.Op
	from, known, to float64
	how             ending
	by              *history.Op
}

type ending int

const (
	open    ending = iota // nothing is known of its end
	freed                 // removed by its owner
	stolen                // removed by another
	expired               // gone by the time that another made it
)

// lockKeys finds every lock key of a cell: what somebody made, and is not the stock.
func lockKeys(c *history.Cell) []*lockKey {
	var keys []*lockKey
	byName := map[[2]string]*lockKey{}
	for i := range c.Ops {
		op := &c.Ops[i]
		for j := range op.Trace {
			cmd := &op.Trace[j]
			if isStock(cmd) || !makes(cmd) && !renews(cmd) && !removes(cmd) {
				continue
			}
			name := [2]string{cmd.Node, cmd.Key}
			if byName[name] == nil {
				byName[name] = &lockKey{node: cmd.Node, key: cmd.Key}
				keys = append(keys, byName[name])
			}
			byName[name].events = append(byName[name].events, event{cmd, op})
		}
	}
	slices.SortStableFunc(keys, func(a, b *lockKey) int {
		return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.node, b.node))
	})
	for _, k := range keys {
		k.reconstruct()
	}
	return keys
}

// reconstruct makes holds of the events.
func (k *lockKey) reconstruct() {
	slices.SortStableFunc(k.events, func(a, b event) int { return cmp.Compare(a.End, b.End) })
	for _, e := range k.events {
		if makes(e.Command) && done(e.Command) && e.End.Known() {
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

// close ends a hold by its owner's own removal, unless the next one surely began before that.
func (k *lockKey) close(h, next *hold) {
	for _, e := range k.events {
		if e.op == h.op && removes(e.Command) && done(e.Command) && e.End.Known() && float64(e.End) >= h.from {
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

// steals finds the removals by orders whose own hold had gone by then: they removed the hold they fell into.
func (k *lockKey) steals() {
	for _, lost := range k.holds {
		if lost.how != expired {
			continue
		}
		for _, e := range k.events {
			if e.op != lost.op || !removes(e.Command) || !done(e.Command) || !e.End.Known() {
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

// sightings moves known up to the last reply that showed the key: a renewal, or a set-if-absent that was refused.
func (k *lockKey) sightings() {
	at := 0
	for _, e := range k.events {
		seen := renews(e.Command) && done(e.Command) || makes(e.Command) && e.Err == "" && !done(e.Command)
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
