package history

import (
	"cmp"
	"path"
	"slices"
	"sort"
	"strings"
	"time"
)

// A Timeline holds the tenures of each lock of a cell: holder, beginning and end, how each ended, and how exactly that
// is known. It is derived from the orders' commands and their replies. The audit judges it, and reports draw it.
//
// Its premise is that a set-if-absent that succeeded proves that the key was gone. Say order A made the key, then B's
// set-if-absent succeeded, and then A removed the key without having made it again: A removed a lock that was not A's.
// (A semaphore's permit proves that only if it is the first one.) Commands take time, so "then" means: sent after the
// reply to the other. A command whose reply was lost may have made the key at any later time; it excuses its own order,
// and is never held against another.
//
// All times are compared as they are: a timeline over two clocks means nothing. A cell of n commands takes n log n or,
// if it is forged, that times the number of orders in flight at once. Orders are named by their indices in the cell's
// Ops.
type Timeline struct {
	Terms Terms
	// Locks are in order of keys and nodes.
	Locks []*Lock
	// Removals are the commands that removed a lock, in the order of the cell's ops.
	Removals []Removal

	cell   *Cell
	byName map[[2]string]*Lock
	passed []passedRemoval
}

// A Lock is one key on one node.
type Lock struct {
	Node, Key string
	// Tenures are in order of their beginnings.
	Tenures []Tenure
	// Renewals are the commands meant to give the lock a new expiry.
	Renewals []Command

	removals []*Removal // sorted by Of, and by time
	strays   []Instant  // when stray commands acquired or removed it
	left     []Instant  // when a release left it held by an unknown order: a counter step that was never undone
	unseen   bool       // the effects of some of its commands are known only by name
}

// A Tenure is the span in which an order held a lock. Another order can hold it at the same time only if neither tenure
// is Alone.
type Tenure struct {
	End
	// Sent is when the acquire was sent, and From when it was replied to.
	Sent, From Instant
	// Heard is when its order received the reply, Never if the reply was lost.
	Heard Instant
	// Note is the reply of the note of its end, "" if it has none: [LeaseOver], [LockRemoved] or [LocksLost]; or
	// [LockSwept].
	Note string

	replied Instant // the same as From, unless the reply was late
	Order   int
	Alone   bool
	place   bool          // it began as a place in a queue, which no other order can remove
	again   bool          // its order held the lock already, unless another acquired it in between
	endless bool          // the acquire set no TTL
	lease   time.Duration // the TTL that it set, 0 if the usual one
	over    bool          // the acquire was seen to replace a value

	replaced bool // it ended by such an acquire
}

// An End is how a tenure ended, at some instant from Since to At. At is Never if no end is known.
type End struct {
	How       Ending
	By        int // the order that removed the lock, or that acquired it next
	Since, At Instant
}

// An Ending is the way in which a tenure ended.
type Ending uint8

// Released means by its order, or by another one with the same owner token. Removed means by an order that did not hold
// the lock. Gone means that another order acquired it, which proves that the tenure had ended. The terms may explain
// that: Expired, since its TTL was over, or SessionOver, since the server heard no more from its order.
const (
	NoEnd Ending = iota
	Released
	Removed
	Gone
	Expired
	SessionOver
)

// Lost reports whether the tenure ended without a release.
func (e End) Lost() bool { return e.How > Released }

// A Removal is a command that removed a lock.
type Removal struct {
	// Order is the order that sent it. Of is the one that last acquired or renewed the lock: itself, or one that passed
	// the lock on to it.
	Order, Of int
	// Owned is when Of last knew the lock to be its own, Never if that is unknown.
	Owned, At, End Instant
	// Taken is when another order, By, knew that it had acquired the lock, after Owned and before At: so the remover
	// removed a lock that was not its own. It is Never if no order is known to have.
	Taken Instant
	By    int

	lock   *Lock
	looked bool // its effect was observed: it removed the lock that was there
}

// Passed reports whether another order, with the same owner token, passed the lock on to the remover.
func (r *Removal) Passed() bool { return r.Of != r.Order }

// Foreign reports whether the remover certainly removed a lock that was not its own.
func (r *Removal) Foreign() bool { return r.Taken.Known() }

// Lock returns the lock that was removed, nil for a place in a queue of an order that never held the lock.
func (r *Removal) Lock() *Lock { return r.lock }

// TimelineOf returns the timeline of a cell whose locks end under these terms. It leaves out the commands in an answer
// that belongs to another order: they prove nothing about the order that received it.
func TimelineOf(c *Cell, terms Terms) *Timeline {
	t := &Timeline{Terms: terms, cell: c, byName: map[[2]string]*Lock{}}
	for i := range c.Ops {
		if c.Ops[i].For == "" {
			t.add(i)
		}
	}
	for i := range c.Strays {
		cmd := &c.Strays[i]
		mayTake := cmd.Acquires() && (cmd.Succeeded() || cmd.Source != Looked)
		if l := t.lockOf(&Op{}, cmd); l != nil && (mayTake || cmd.Releases()) {
			l.strays = append(l.strays, cmd.At)
		}
	}
	t.findOwners()
	t.Locks = slices.DeleteFunc(t.Locks, func(l *Lock) bool { // the name of a place before the server numbered it
		return len(l.Tenures) == 0 && strings.HasSuffix(l.Key, "-")
	})
	slices.SortFunc(t.Locks, func(a, b *Lock) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Node, b.Node))
	})
	for i := range t.Removals {
		if r := &t.Removals[i]; r.lock != nil {
			r.lock.removals = append(r.lock.removals, r)
		}
	}
	for _, l := range t.Locks {
		l.sort()
		l.findStrangers(c)
		l.reconstruct()
	}
	t.explain()
	return t
}

// add adds the commands of an order.
func (t *Timeline) add(order int) {
	op := &t.cell.Ops[order]
	queued := t.queue(op)
	if queued != nil {
		at := op.Lease.AcquiredAt
		queued.Tenures = append(queued.Tenures,
			Tenure{Order: order, Sent: at, From: at, Heard: at, replied: at, Alone: true, place: true})
	}
	for i := range op.Trace {
		cmd := &op.Trace[i]
		l := t.lockOf(op, cmd)
		l.note(cmd)
		switch {
		case l != nil && cmd.Acquires() && cmd.Succeeded() && cmd.End.Known():
			l.Tenures = append(l.Tenures, Tenure{Order: order, Sent: cmd.At, From: cmd.End, Heard: cmd.Heard(), replied: cmd.End,
				Alone: cmd.AcquiresAlone(), again: tookBefore(op.Trace, cmd), endless: cmd.Endless(),
				lease: cmd.Lease(), over: cmd.Wire != nil && cmd.Wire.Was != ""})
		case cmd.Releases() && cmd.Succeeded():
			r := Removal{Order: order, Of: order, Owned: Never, At: cmd.At, End: cmd.End, Taken: Never, By: -1, lock: l,
				looked: cmd.Source == Looked}
			if l == nil {
				r.lock = queued
			}
			if last, known := ownedBefore(op.Trace, cmd); known {
				r.Owned = op.Trace[last].End
			} else {
				t.passed = append(t.passed, passedRemoval{op, cmd, len(t.Removals)})
			}
			t.Removals = append(t.Removals, r)
		}
	}
}

// note records whether the effect of a command on a lock was observed, and whether it left the lock held.
func (l *Lock) note(cmd *Command) {
	switch {
	case l == nil:
	case cmd.Source != Looked:
		l.unseen = true
	case cmd.Releases() && cmd.Wire != nil && cmd.Wire.Is != "":
		l.left = append(l.left, cmd.End)
	}
}

// lockOf returns the lock that a command is on, nil if it is on none. A key that is named like a stock is a lock if it
// is removed.
func (t *Timeline) lockOf(op *Op, cmd *Command) *Lock {
	name := [2]string{cmd.Node, cmd.Key}
	switch {
	case cmd.OnLock():
	case cmd.WritesStock() && cmd.Acquires():
		removed := func(r Command) bool { return r.OnLock() && r.Node == cmd.Node && r.Key == cmd.Key }
		if t.byName[name] == nil && !slices.ContainsFunc(op.Trace, removed) {
			return nil
		}
	default:
		return nil
	}
	return t.lock(name)
}

func (t *Timeline) lock(name [2]string) *Lock {
	l := t.byName[name]
	if l == nil {
		l = &Lock{Node: name[0], Key: name[1]}
		t.byName[name] = l
		t.Locks = append(t.Locks, l)
	}
	return l
}

// queue returns the lock that an order held by its place in a ZooKeeper queue, nil if it had no place. The lock is the
// parent of the places. The order holds it from the beginning of its lease to the removal of its place.
func (t *Timeline) queue(op *Op) *Lock {
	if op.Lease == nil || !op.Lease.AcquiredAt.Known() {
		return nil
	}
	for i := range op.Trace {
		if cmd := &op.Trace[i]; cmd.onPlace() && (cmd.Acquires() || cmd.Releases()) {
			return t.lock([2]string{cmd.Node, path.Dir(cmd.Key)})
		}
	}
	return nil
}

// tookBefore reports whether an order had acquired the lock before this acquire, with no release in between: a
// reentrant lock can be acquired twice.
func tookBefore(trace []Command, taken *Command) bool {
	of := func(cmd *Command) bool { return cmd.Node == taken.Node && cmd.Key == taken.Key && cmd.End.Known() }
	before := Never
	for i := range trace {
		if cmd := &trace[i]; cmd != taken && of(cmd) && cmd.Acquires() && cmd.Succeeded() && cmd.End <= taken.End {
			before = cmd.End
		}
	}
	return before.Known() && !slices.ContainsFunc(trace, func(cmd Command) bool {
		return of(&cmd) && cmd.Releases() && before <= cmd.End && cmd.End <= taken.At
	})
}

// ownedBefore returns the last command in trace by which its owner knew the key to be its own before r was sent. That
// is unknown if there is none, or if a command of the owner's was in flight or lost its reply: it may have made the key
// again at the last moment. A renewal that succeeded found the key to be its own, or made it: the article's script
// makes a missing key.
func ownedBefore(trace []Command, r *Command) (last int, known bool) {
	for i := range trace {
		s := &trace[i]
		if s.Node != r.Node || s.Key != r.Key || !s.Acquires() && !s.Renews() || !s.Succeeded() && !s.Lost() {
			continue
		}
		switch {
		case s.At > r.End: // truncated times may be equal
		case s.Lost() || s.End > r.At:
			return 0, false
		case !known || s.End > trace[last].End:
			last, known = i, true
		}
	}
	return last, known
}

// reconstruct derives the ends of the tenures from the removals and from each other.
func (l *Lock) reconstruct() {
	slices.SortFunc(l.removals, func(a, b *Removal) int {
		return cmp.Or(cmp.Compare(a.Of, b.Of), cmp.Compare(a.End, b.End))
	})
	l.sort()
	l.accuse()
	l.Tenures = slices.CompactFunc(l.Tenures, func(h, before Tenure) bool { return h.again && h.Order == before.Order })
	l.lateReplies()
	l.close()
	for i := range l.Tenures {
		h := &l.Tenures[i]
		if r := l.removalOf(h); r != nil && h.How == Gone && (r.Foreign() || !r.Owned.Known()) {
			l.remove(r)
		}
	}
	for _, r := range l.removals {
		if r.looked {
			l.endBy(r)
		}
	}
	l.inTurn()
}

func (l *Lock) sort() {
	slices.SortStableFunc(l.Tenures, func(a, b Tenure) int { return cmp.Compare(a.From, b.From) })
}

// from returns the index of the first tenure that began at that instant or later.
func (l *Lock) from(at Instant) int {
	return sort.Search(len(l.Tenures), func(i int) bool { return l.Tenures[i].From >= at })
}

// accuse finds, for each removal, the first order that certainly acquired the lock after the remover last owned it and
// before the removal.
func (l *Lock) accuse() {
	for _, r := range l.removals {
		if !r.Owned.Known() {
			continue
		}
		for _, h := range l.Tenures[l.from(r.Owned):] {
			if h.From >= r.At {
				break
			}
			if h.Alone && !h.place && h.Order != r.Order && h.Sent >= r.Owned {
				r.By, r.Taken = h.Order, h.From
				break
			}
		}
	}
}

// findStrangers accuses orders that removed a lock that they never acquired, if the effects of all their commands were
// observed, and the last order to acquire the lock was on another instance, and no removal was seen since.
func (l *Lock) findStrangers(c *Cell) {
	for _, r := range l.removals {
		op := &c.Ops[r.Order]
		took := slices.ContainsFunc(op.Trace, func(cmd Command) bool {
			return cmd.Source != Looked || cmd.Key == l.Key && cmd.Acquires() && cmd.Succeeded()
		})
		i := l.from(r.At) - 1
		if took || i < 0 || c.Ops[l.Tenures[i].Order].Instance == op.Instance {
			continue
		}
		if h := &l.Tenures[i]; !slices.ContainsFunc(l.removals, func(one *Removal) bool {
			return one != r && one.At >= h.From && one.End <= r.At // an unknown order holds the lock
		}) {
			r.Of, r.Owned = r.Order, h.Sent
		}
	}
}

// lateReplies moves the beginning of a tenure to when its acquire was sent, if the reply came only after another order
// had acquired the lock and while that order still held it: the acquire had taken effect before.
func (l *Lock) lateReplies() {
	var late []int
	for i := range l.Tenures {
		h := &l.Tenures[i]
		for j := i - 1; j >= 0 && l.Tenures[j].From >= h.Sent; j-- {
			o := &l.Tenures[j]
			if r := l.removalOf(o); o.Order != h.Order && o.Sent >= h.Sent && o.From < h.From && (r == nil || r.At >= h.From) {
				late = append(late, i)
				break
			}
		}
	}
	for _, i := range late {
		l.Tenures[i].From = l.Tenures[i].Sent
	}
	l.sort()
}

// removalOf returns the first removal that can have ended a tenure, nil if none can.
func (l *Lock) removalOf(h *Tenure) *Removal {
	i := sort.Search(len(l.removals), func(i int) bool {
		r := l.removals[i]
		return r.Of > h.Order || r.Of == h.Order && r.End >= h.From
	})
	if i == len(l.removals) || l.removals[i].Of != h.Order || !l.removals[i].End.Known() {
		return nil
	}
	return l.removals[i]
}

// close ends each tenure by the removal of its own order, unless another order held the lock by then. Without a removal
// it ended at the latest when the next order acquired the lock, which proves it gone.
func (l *Lock) close() {
	next, other := -1, -1 // the next tenure that is alone, and the next such of another order
	for i := len(l.Tenures) - 1; i >= 0; i-- {
		h := &l.Tenures[i]
		after := next
		if next >= 0 && l.Tenures[next].Order == h.Order {
			after = other
		}
		l.end(h, after)
		if h.Alone {
			if next >= 0 && l.Tenures[next].Order != h.Order {
				other = next
			}
			next = i
		}
	}
}

func (l *Lock) end(h *Tenure, after int) {
	r := l.removalOf(h)
	switch {
	case r != nil && r.Foreign():
		h.End = End{Gone, r.By, h.From, max(r.Taken, h.From)}
	case r != nil && (after < 0 || h.place || l.Tenures[after].From >= r.At):
		h.End = End{Released, r.Order, max(r.At, h.From), r.End}
	case after >= 0:
		next := &l.Tenures[after]
		h.End = End{Gone, next.Order, h.From, max(next.From, h.From)}
		if next.over {
			h.Since, h.replaced = max(next.Sent, h.From), true
		}
	default:
		h.End = End{NoEnd, -1, h.From, Never}
	}
}

// remove ends the tenures of other orders that were current when an order that no longer held the lock removed it.
func (l *Lock) remove(r *Removal) {
	for i := l.from(r.At+1) - 1; i >= 0; i-- {
		h := &l.Tenures[i]
		if h.Order != r.Of && r.At < h.At {
			h.End = End{Removed, r.Order, max(r.At, h.From), r.End}
		}
		if h.Alone {
			return
		}
	}
}

// endBy ends the tenure of another order that was current at an observed removal. A removal that accuses no order is by
// one to which the holder had passed the lock.
func (l *Lock) endBy(r *Removal) {
	i := l.from(r.At+1) - 1
	if i < 0 {
		return
	}
	h, how := &l.Tenures[i], Released
	if r.Foreign() {
		how = Removed
	}
	if h.Alone && h.Order != r.Of && r.At < h.At && h.How != Released && h.How != Removed {
		h.End = End{how, r.Order, r.At, r.End}
	}
}

// inTurn makes the tenure of a place begin no earlier than those before it end, whatever its order believed.
func (l *Lock) inTurn() {
	free := Instant(-1 << 63)
	for i := range l.Tenures {
		h := &l.Tenures[i]
		if h.place && h.From < free {
			h.From, h.Since, h.At = free, max(h.Since, free), max(h.At, free)
		}
		if h.How == Released {
			free = max(free, h.At)
		}
	}
}
