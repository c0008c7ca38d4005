package html

import (
	"cmp"
	"math"
	"slices"
	"time"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/history"
)

// leaseTTL returns after which time a lock of the cell ends by itself, and 0 if it has no TTL: it ends with a session,
// or never.
func leaseTTL(c *history.Cell) float64 {
	switch catalog.KindOf(c.Rung) {
	case catalog.Redis, catalog.Nodes, catalog.SQLRow:
		if !catalog.RungOf(c.Rung).Endless && c.TTL > 0 {
			return float64(c.TTL)
		}
	case catalog.NoLock, catalog.SQLSession, catalog.ZooKeeper:
	}
	return 0
}

// endsWithSession reports whether the lock is the session's: the server ends it when it hears no more of the holder.
func endsWithSession(c *history.Cell) bool {
	kind := catalog.KindOf(c.Rung)
	return kind == catalog.ZooKeeper || kind == catalog.SQLSession
}

// overAt returns when the TTL of a hold is surely over: a TTL after the reply to the command that set it last. It is
// infinite if no command set one. Early is the same after the sending of that command.
func (k *lockKey) overAt(h *hold) (early, at float64) {
	early, at = math.Inf(1), math.Inf(1)
	if k.ttl == 0 {
		return early, at
	}
	if h.made.Cmd != "setnx" { // SETNX sets none
		early, at = float64(h.made.At)+k.ttl, float64(h.made.End)+k.ttl
	}
	for _, e := range k.events {
		if e.op == h.op && e.Prolongs() && e.Succeeded() && e.End.Known() &&
			float64(e.End) >= h.from && float64(e.End) <= h.to {
			early, at = float64(e.At)+k.ttl, float64(e.End)+k.ttl
		}
	}
	return early, at
}

// rounding is by how much a server may end a key before its TTL is over by the instance's clock.
const rounding = float64(5 * time.Millisecond)

// An end is the moment from which on an order no longer had a lock, and the reason.
type end struct {
	at  float64
	why string
	// The lock ended between since and at: while a command was under way, or some time after its last sign.
	since float64
	// lost is false if the order gave the lock back.
	lost bool
}

var never = end{at: math.Inf(1), since: math.Inf(1)}

// exact reports whether it is known to the millisecond when the lock ended.
func (e end) exact() bool { return e.at-e.since <= 1.1e6 }

// endOf returns how a hold ended.
func (d *drawing) endOf(k *lockKey, h *hold) end {
	early, over := k.overAt(h)
	if at, known := d.goneAt(h); known && at < over && (h.how == expired || h.how == open) {
		return end{at, "lock gone", at, true}
	}
	switch h.how {
	case freed:
		return end{h.to, "released", max(h.removing, h.from), false}
	case stolen:
		return end{h.to, "removed by " + short(d.cell, h.by), max(h.removing, h.from), true}
	case expired:
		switch {
		case early-rounding <= h.to:
			return end{min(over, h.to), "TTL over", min(early, h.to), true}
		case endsWithSession(d.cell):
			return end{h.to, "session over", min(h.known, h.to), true}
		}
		return end{h.to, "lock gone", min(h.known, h.to), true}
	case open:
	}
	if math.IsInf(over, 1) {
		return never
	}
	return end{over, "TTL over", early, true}
}

// lockEnd returns when an order no longer had its lock although it had not given it back. Of a lock on several nodes
// that is when fewer nodes than it takes still had the order's key.
func (d *drawing) lockEnd(op *history.Op) end {
	if op.Lease == nil || !op.Lease.AcquiredAt.Known() {
		return never
	}
	first := never
	for i, k := range d.keys {
		if i > 0 && d.keys[i-1].key == k.key { // keys are sorted
			continue
		}
		if e := d.lockEndOf(op, k.key); e.at < first.at {
			first = e
		}
	}
	return first
}

func (d *drawing) lockEndOf(op *history.Op, key string) end {
	var ends []end
	nodes := 0
	for _, k := range d.keys {
		if k.key != key {
			continue
		}
		nodes++
		if h := k.holdOf(op); h != nil {
			e := d.endOf(k, h)
			if !e.lost {
				e = never
			}
			ends = append(ends, e)
		}
	}
	need := nodes
	if catalog.RungOf(d.cell.Rung).Quorum {
		need = nodes/2 + 1
	}
	if len(ends) < need || need == 0 {
		return never // what the order had is not known
	}
	slices.SortFunc(ends, func(a, b end) int { return cmp.Compare(a.at, b.at) })
	return ends[len(ends)-need]
}

// holdOf returns the hold with which the order's lease began: the last one that was made before it.
func (k *lockKey) holdOf(op *history.Op) (own *hold) {
	for _, h := range k.holds {
		if h.op.Order == op.Order && h.from <= float64(op.Lease.AcquiredAt) {
			own = h
		}
	}
	return own
}
