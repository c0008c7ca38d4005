package html

import (
	"cmp"
	"math"
	"path"
	"slices"
	"strings"

	"stockapi/loadtest/history"
)

// lockKey is one lock key on one node, and the times in which orders had it.
type lockKey struct {
	node, key string
	ttl       float64 // 0: none
	holds     []*hold
	events    []event
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
	made            *history.Command
	from, known, to float64
	how             ending
	by              *history.Op
	removing        float64 // when the command was sent that removed the key
	row             int     // of the lane, if orders share the lock
}

type ending int

const (
	open    ending = iota // its end is unknown
	freed                 // removed by its owner
	stolen                // removed by another order
	expired               // gone when another order made it
)

// lockKeys finds the lock keys of a cell: every key that an order made and that is not the stock. Of a large cell it
// takes the orders that sent commands on one in the drawn time.
func lockKeys(c *history.Cell, w window) []*lockKey { return lockKeysOf(c, w, c.Len() <= maxWhole) }

func lockKeysOf(c *history.Cell, w window, whole bool) []*lockKey {
	f := &finder{ttl: leaseTTL(c), byName: map[[2]string]*lockKey{}}
	for _, op := range c.All() {
		if whole || w.focus[op.Order] || onLock(op).meets(w.span) && f.events < maxEvents {
			f.add(op)
		}
	}
	keys := f.keys
	slices.SortStableFunc(keys, func(a, b *lockKey) int {
		return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.node, b.node))
	})
	for _, k := range keys {
		k.reconstruct()
	}
	return slices.DeleteFunc(keys, func(k *lockKey) bool { // the name of a place, before the server gave it a number
		return len(k.holds) == 0 && strings.HasSuffix(k.key, "-")
	})
}

const (
	// maxWhole is the largest number of orders of a cell whose lock commands are all kept. Of larger cells about maxEvents
	// commands are kept: a lane shows a few hundred.
	maxWhole  = 5000
	maxEvents = 5000
)

// finder collects lock keys.
type finder struct {
	ttl    float64
	keys   []*lockKey
	byName map[[2]string]*lockKey
	events int
}

// add keeps the lock commands of an order.
func (f *finder) add(op *history.Op) {
	kept := withoutPlaces(op)
	for i := range kept.Trace {
		cmd := &kept.Trace[i]
		if !cmd.OnLock() {
			continue
		}
		name := [2]string{cmd.Node, cmd.Key}
		if f.byName[name] == nil {
			f.byName[name] = &lockKey{node: cmd.Node, key: cmd.Key, ttl: f.ttl}
			f.keys = append(f.keys, f.byName[name])
		}
		f.byName[name].events = append(f.byName[name].events, event{cmd, kept})
		f.events++
	}
}

// withoutPlaces returns a copy of an order that had the lock by its place in a queue of ZooKeeper's. In its trace the
// places are the lock itself, by the name of their folder: the lock was the order's from the beginning of its lease to
// the removal of its place.
func withoutPlaces(op *history.Op) *history.Op {
	kept := *op
	if op.Lease == nil || !op.Lease.AcquiredAt.Known() {
		return &kept
	}
	var lock *history.Command
	trace := make([]history.Command, 0, len(op.Trace)+1)
	for _, cmd := range op.Trace {
		if strings.HasPrefix(cmd.Cmd, "zk:") && (cmd.Acquires() || cmd.Releases()) && !cmd.OnLock() {
			cmd.Key = path.Dir(cmd.Key)
			if cmd.Acquires() {
				cmd.Cmd = "" // it is no lock yet
			}
			lock = &history.Command{Node: cmd.Node, Cmd: "zk:create", Key: cmd.Key, Reply: "ok",
				At: op.Lease.AcquiredAt, End: op.Lease.AcquiredAt}
		}
		trace = append(trace, cmd)
	}
	if lock != nil {
		trace = append(trace, *lock)
		kept.Trace = trace
	}
	return &kept
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
		if e.Acquires() && e.Succeeded() && e.End.Known() && !k.again(e) {
			k.holds = append(k.holds, &hold{
				op: e.op, made: e.Command, from: float64(e.End), known: float64(e.End), to: math.Inf(1),
			})
		}
	}
	k.lateReplies()
	for i, h := range k.holds {
		alone := func(n *hold) bool { return n.op != h.op && n.made.AcquiresAlone() }
		var next *hold
		if n := slices.IndexFunc(k.holds[i+1:], alone); n >= 0 {
			next = k.holds[i+1+n]
		}
		k.close(h, next)
	}
	k.steals()
	k.sightings()
	k.inTurn()
}

// lateReplies moves holds to where their command was sent, if its reply came only after another order had made the key,
// and that order still had it: so the command had taken effect before.
func (k *lockKey) lateReplies() {
	for _, h := range k.holds {
		if slices.ContainsFunc(k.holds, func(o *hold) bool {
			return o.op != h.op && o.made.At >= h.made.At && o.made.End < h.made.End && !k.releasedBy(o, h.made.End)
		}) {
			h.from, h.known = float64(h.made.At), float64(h.made.At)
		}
	}
	slices.SortStableFunc(k.holds, func(a, b *hold) int { return cmp.Compare(a.from, b.from) })
}

// releasedBy reports whether the hold's own order had removed the key by then.
func (k *lockKey) releasedBy(h *hold, by history.Instant) bool {
	return slices.ContainsFunc(k.events, func(e event) bool {
		return e.op == h.op && e.Releases() && e.Succeeded() && float64(e.At) >= h.from && e.At < by
	})
}

// again reports whether an order that has the lock takes it once more, as it may if the lock is reentrant.
func (k *lockKey) again(e event) bool {
	if len(k.holds) == 0 || k.holds[len(k.holds)-1].op != e.op {
		return false
	}
	h := k.holds[len(k.holds)-1]
	return !slices.ContainsFunc(k.events, func(r event) bool {
		return r.op == e.op && r.Releases() && r.End.Known() && float64(r.End) >= h.from && r.End <= e.At
	})
}

// close ends a hold by its owner's own removal, unless the next hold surely began before that.
func (k *lockKey) close(h, next *hold) {
	for _, e := range k.events {
		if e.op == h.op && e.Releases() && e.Succeeded() && e.End.Known() && float64(e.End) >= h.from {
			if next != nil && next.from < float64(e.At) && !h.place() {
				break
			}
			h.removing, h.to, h.how = float64(e.At), float64(e.End), freed
			return
		}
	}
	if next != nil {
		h.to, h.how, h.by = max(next.from, h.from), expired, next.op
	}
}

// place reports whether the hold is a place in a queue of ZooKeeper's: nobody else can have removed it.
func (h *hold) place() bool { return h.made.Cmd == "zk:create" && h.made.At == h.made.End }

// inTurn lets a place begin no earlier than the places before it end, whatever its order believed.
func (k *lockKey) inTurn() {
	for i, h := range k.holds {
		for _, before := range k.holds[:i] {
			if h.place() && before.how == freed && before.to > h.from {
				h.from, h.known = before.to, max(h.known, before.to)
				h.to = max(h.to, h.from)
			}
		}
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
					h.removing, h.to, h.how, h.by = float64(e.At), float64(e.End), stolen, e.op
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
