package history

import (
	"cmp"
	"path"
	"slices"
	"sort"
	"strings"
)

// A Timeline says who held which lock of a cell, from when until when, how each tenure ended, and how exactly that is
// known. It is derived from the commands that the orders sent, and from their replies. The audit judges it, and reports
// draw it.
//
// It rests on what a server promises of one key: a set-if-absent that succeeded proves that the key was gone. Say order
// A made the key, then B's set-if-absent succeeded, and then A removed the key without having made it again. Then A
// removed a lock that was not A's. (A semaphore's permit proves that only if it is the first one.) Commands take time,
// so "then" means: sent after the reply to the other. A command whose reply was lost may have made the key at any later
// time; it excuses its own order, and is never held against another.
//
// All times are compared as they are: those of two clocks mean nothing. A cell of n commands takes n log n, times the
// number of orders that were under way at once if it is forged. Orders are named by their indices in the cell's Ops.
type Timeline struct {
	// Locks are in the order of their keys and nodes.
	Locks []*Lock
	// Removals are the commands that removed a lock, in the order of the cell's orders.
	Removals []Removal

	cell   *Cell
	byName map[[2]string]*Lock
	passed []passedRemoval
}

// A Lock is one key on one node.
type Lock struct {
	Node, Key string
	// Tenures are in the order in which they began.
	Tenures []Tenure
	// Renewals are the commands that were to give the lock a new end. Only [Timeline.Explain] collects them.
	Renewals []Command

	removals []*Removal // by whose tenure they end, and by time
	strays   []Instant  // when commands that may be several orders' took or removed it
	left     []Instant  // when a release left it held, and nobody knows by whom: a step of a counter that was never undone
	unseen   bool       // names decide what some of its commands did
}

// A Tenure is the time for which an order had a lock. Another order can have it at the same time only if neither of
// their tenures is Alone.
type Tenure struct {
	End
	// Sent is when the command was sent that took the lock, and From when its reply said so.
	Sent, From Instant
	// Heard is when its order knew. It is Never if the reply was lost on its way.
	Heard Instant

	replied Instant // the same as From, unless the reply was late
	Order   int
	Alone   bool
	place   bool // it began as a place in a queue, which nobody else can remove
	again   bool // its order had the lock already, if nobody took it in between
	endless bool // the command that took the lock set no TTL
	over    bool // and it replaced what was there: somebody looked

	replaced bool // it ended by such a command
}

// An End says how a tenure ended: at some moment from Since to At. At is Never if no end is known.
type End struct {
	How       Ending
	By        int // the order that removed the lock, or that took it next
	Since, At Instant
}

// An Ending is the way in which a tenure ended.
type Ending uint8

// Released means by its order, or by another one with the same owner token. Removed means by an order that did not
// have the lock. Gone means that another order took it, which proves that it had ended. [Timeline.Explain] tells why:
// Expired, as its TTL was over, or SessionOver, as the server heard no more of its order.
const (
	NoEnd Ending = iota
	Released
	Removed
	Gone
	Expired
	SessionOver
)

// Lost reports whether the tenure ended although its order did not give the lock back.
func (e End) Lost() bool { return e.How > Released }

// A Removal is a command that removed a lock.
type Removal struct {
	// Order is the order that sent it. Of is the one that took the lock last, or renewed it: itself, or one that passed
	// the lock on to it.
	Order, Of int
	// Owned is when Of last knew the lock to be its own. It is Never if that cannot be told.
	Owned, At, End Instant
	// Taken is when another order knew that it had taken the lock, after Owned and before At: so that the remover removed
	// a lock that was not its own. By is that order. Taken is Never if nobody is known to have.
	Taken Instant
	By    int

	lock   *Lock
	looked bool // somebody did: the command removed what was there
}

// Passed reports whether the remover had the lock from another order, which has the same owner token.
func (r *Removal) Passed() bool { return r.Of != r.Order }

// Foreign reports whether the remover surely removed a lock that was not its own.
func (r *Removal) Foreign() bool { return r.Taken.Known() }

// Lock returns the lock that was removed, nil if that was a place in a queue of an order that never had the lock.
func (r *Removal) Lock() *Lock { return r.lock }

// TimelineOf returns the timeline of a cell. The commands in an answer that is another order's are left out: they prove
// nothing of the order that got it.
func TimelineOf(c *Cell) *Timeline {
	t := &Timeline{cell: c, byName: map[[2]string]*Lock{}}
	for i := range c.Ops {
		if c.Ops[i].For == "" {
			t.add(i)
		}
	}
	for i := range c.Strays {
		if l := t.lockOf(&Op{}, &c.Strays[i]); l != nil && (c.Strays[i].Acquires() || c.Strays[i].Releases()) {
			l.strays = append(l.strays, c.Strays[i].At)
		}
	}
	t.findOwners()
	t.Locks = slices.DeleteFunc(t.Locks, func(l *Lock) bool { // the name of a place, before the server gave it a number
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
				over: cmd.Wire != nil && cmd.Wire.Was != ""})
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

// note notes of a command on a lock whether somebody looked, and what it left.
func (l *Lock) note(cmd *Command) {
	switch {
	case l == nil:
	case cmd.Source != Looked:
		l.unseen = true
	case cmd.Releases() && cmd.Wire != nil && cmd.Wire.Is != "":
		l.left = append(l.left, cmd.End)
	}
}

// lockOf returns the lock that a command is about, nil if it is about none. A key that is named like the stock is a
// lock if it is removed.
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

// queue returns the lock of an order that had it by its place in a queue of ZooKeeper's, nil if it had none. The lock
// is the folder of the places. It is the order's from the beginning of its lease to the removal of its place.
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

// tookBefore reports whether an order took the lock before that command took it, and sent no release in between: a
// reentrant lock can be taken twice.
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

// ownedBefore returns the last of the commands by which those who sent them knew the key to be their own before r was
// sent. That is not known if there is none, or if a command of their own was under way or lost its reply, which may
// have made the key again at the last moment. A renewal that succeeded found the key to be its own, or made it: the
// article's script makes a key that is gone.
func ownedBefore(trace []Command, r *Command) (last int, known bool) {
	for i := range trace {
		s := &trace[i]
		if s.Node != r.Node || s.Key != r.Key || !s.Acquires() && !s.Renews() || !s.Succeeded() && !s.Lost() {
			continue
		}
		switch {
		case s.At > r.End: // a clock that cuts its times off tells the same of both
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

// from returns the position of the first tenure that began at that time or later.
func (l *Lock) from(at Instant) int {
	return sort.Search(len(l.Tenures), func(i int) bool { return l.Tenures[i].From >= at })
}

// accuse finds, for each removal, the first order that surely took the lock after the remover last owned it and before
// the remover removed it.
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

// findStrangers accuses those who removed a lock that they never took. Of such an order all commands are known to have
// been seen if somebody looked. What it removed was then the lock of the order on another instance that took it last.
func (l *Lock) findStrangers(c *Cell) {
	for _, r := range l.removals {
		op := &c.Ops[r.Order]
		took := slices.ContainsFunc(op.Trace, func(cmd Command) bool {
			return cmd.Source != Looked || cmd.Key == l.Key && cmd.Acquires() && cmd.Succeeded()
		})
		if i := l.from(r.At) - 1; !took && i >= 0 && c.Ops[l.Tenures[i].Order].Instance != op.Instance {
			r.Of, r.Owned = r.Order, l.Tenures[i].Sent
		}
	}
}

// lateReplies moves tenures to where their command was sent, if its reply came only after another order had taken the
// lock, and that order still had it: so the command had taken effect before.
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

// removalOf returns the first removal that can have ended a tenure, nil if there is none.
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

// close ends each tenure by the removal of its own order, unless somebody else had the lock by then. Without a removal
// it ended at the latest when the next order took the lock that proves it gone.
func (l *Lock) close() {
	next, other := -1, -1 // the next tenure that is alone, and the next one of another order
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

// remove ends the tenures of others that were under way when the lock was removed by one that had it no more.
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

// endBy ends the tenure of another order that was under way at a removal at which somebody looked. One that accuses
// nobody is that of an order which had the lock from that one.
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

// inTurn lets a place begin no earlier than the places before it end, whatever its order believed.
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
