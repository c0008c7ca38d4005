package history

import (
	"cmp"
	"slices"
)

// A Course is what an order did, command by command, and what it knew of its lock as it sent each. An event is judged
// by what its order knew then; its effect, by the lock when the server carried the command out: see [Timeline].
type Course struct {
	*Op
	Index  int // in the cell's Ops; -1: its stray commands
	Events []Event
	Last   Belief // after all of them
}

// An Event is a command of an order. Notes among its commands are no events.
type Event struct {
	*Command
	// Belief is what the order knew of its lock when it sent the command.
	Belief
	// Lock is the key that the command is on, nil if it is on none of a lock's, and Key what the order knew of that.
	Lock *Lock
	Key  Belief
}

// A Belief is what an order knows at a moment: of a key of its lock, or of all. It holds the lock if it holds a key.
type Belief struct {
	State State
	// Since is when it received the reply to its last successful acquire, Never if it has not.
	Since Instant
	// Took is its last acquire that succeeded, with a reply or without, Tried the last that it knows to have failed, and
	// Freed its last release. Looked is its last other command on the lock since then. They are nil if it has sent none.
	Took, Tried, Freed, Looked *Command
	// Asked is its last command that tried to acquire the lock, or does so in plain sales, and Granted the last of those
	// that was answered as when it succeeds, whatever was observed.
	Asked, Granted *Command
	// ReadEarly is its last read of the stock while it knew that it did not hold the lock, ReadHeld its last other read,
	// and Write its last write of the stock that took effect. Failed is its last command with an error or no reply.
	ReadEarly, ReadHeld, Write, Failed *Command
	// Value is the digest of the value that it last gave the lock, "" if it gave none.
	Value string
	// Active is when it last sent a command, or received a reply. Keys counts the keys that it holds.
	Active Instant
	Keys   int
}

// A State is what an order knows of its hold on a lock.
type State uint8

// The states. Unsure means that a reply is in flight, or was lost: it accuses no order.
const (
	NoLock   State = iota // it has not tried to acquire the lock
	Unsure                // it tried, and has no reply
	Waiting               // it tried in vain
	Holds                 // it acquired the lock
	KnowsEnd              // a reply to a renewal showed that it had lost the lock
	HasFreed              // it has sent a release
)

// CourseOf returns the course of an order. The course of an answer that belongs to another order has no events.
func (t *Timeline) CourseOf(order int) *Course {
	m := &monitor{line: t, Course: &Course{Op: &t.cell.Ops[order], Index: order}, of: map[*Lock]*Belief{},
		all: Belief{Since: Never, Active: Never}}
	if m.For == "" {
		m.run()
	}
	m.hear(Never)
	m.Last = m.all
	return m.Course
}

// A monitor follows an order. It sends commands when they arrive at the proxy, and hears replies when the client does.
type monitor struct {
	*Course
	line *Timeline
	of   map[*Lock]*Belief
	all  Belief
	due  []*Event // sent and not yet heard of, by when the reply arrives
}

func (m *monitor) run() {
	for i := range m.Trace {
		if cmd := &m.Trace[i]; !cmd.Fault() && !cmd.Cut() && !cmd.Woken() && !cmd.Ended() {
			m.Events = append(m.Events, Event{Command: cmd, Lock: m.line.byName[[2]string{cmd.Node, cmd.Key}]})
		}
	}
	slices.SortStableFunc(m.Events, func(x, y Event) int { return cmp.Compare(x.Came(), y.Came()) })
	for i := range m.Events {
		s := &m.Events[i]
		m.hear(s.Came())
		if s.Belief = m.all; s.Lock != nil {
			s.Key = *m.about(s.Lock)
		}
		m.send(s)
	}
}

// about returns the belief about a key.
func (m *monitor) about(l *Lock) *Belief {
	if m.of[l] == nil {
		m.of[l] = &Belief{Since: Never, Active: Never}
	}
	return m.of[l]
}

// send records that the order sends a command.
func (m *monitor) send(s *Event) {
	m.all.Active = s.Came()
	if s.Heard().Known() {
		i, _ := slices.BinarySearchFunc(m.due, s.Heard()+1, func(d *Event, at Instant) int {
			return cmp.Compare(d.Heard(), at)
		})
		m.due = slices.Insert(m.due, i, s)
	}
	m.all.sale(s.Command)
	if s.Acquires() || s.Usually(EffectAcquired) {
		m.all.Asked = s.Command
	}
	if s.Wire != nil && s.Wire.Granted {
		m.all.Granted = s.Command
	}
	if s.isOnLock() {
		m.both(s, (*Belief).send)
	}
}

// hear delivers the replies that the client has received by then.
func (m *monitor) hear(then Instant) {
	for len(m.due) > 0 && m.due[0].Heard() <= then {
		s := m.due[0]
		m.due, m.all.Active = m.due[1:], s.Heard()
		if s.isOnLock() {
			m.both(s, (*Belief).hear)
		}
	}
}

// isOnLock reports whether a command is on a key of the lock, or acquires or frees a place in a queue.
func (s *Event) isOnLock() bool {
	return s.Lock != nil || !s.WritesStock() && (s.Acquires() || s.Releases())
}

// both changes what the order knows of a key, and of all.
func (m *monitor) both(s *Event, change func(*Belief, *Command)) {
	if change(&m.all, s.Command); s.Lock == nil {
		return
	}
	change(m.about(s.Lock), s.Command)
	m.all.Keys = 0
	for _, b := range m.of {
		if b.State == Holds {
			m.all.State = Holds
			m.all.Keys++
		}
	}
}

// sale records a command on the stock, and one that failed.
func (b *Belief) sale(cmd *Command) {
	switch {
	case cmd.WritesStock() && cmd.Wrote():
		b.Write = cmd
	case cmd.ReadsStock() && b.Granted == nil && (b.State == NoLock || b.State == Waiting || b.State == HasFreed):
		b.ReadEarly = cmd
	case cmd.ReadsStock():
		b.ReadHeld = cmd
	}
	if cmd.Err != "" || !cmd.Heard().Known() {
		b.Failed = cmd
	}
}

func (b *Belief) send(cmd *Command) {
	switch {
	case cmd.Acquires():
		if b.State != Holds {
			b.State = Unsure
		}
		if cmd.Succeeded() {
			b.Took, b.Looked, b.Value = cmd, nil, cmd.Gives()
		}
	case cmd.Releases() && cmd.RenewsOnly(): // a TTL that has removed the lock: its order does not know
	case cmd.Releases():
		b.State, b.Freed, b.Looked = HasFreed, cmd, nil
	case cmd.Usually(EffectReleased): // it found the lock lost
		b.State, b.Looked = HasFreed, cmd
	case cmd.Prolongs():
	case cmd.Names():
		b.Value = cmd.Gives()
	default:
		b.Looked = cmd
	}
}

func (b *Belief) hear(cmd *Command) {
	renews := cmd.RenewsOnly()
	switch {
	case !cmd.Acquires(), b.Freed != nil && b.Freed.Came() > cmd.Came():
	case cmd.Succeeded():
		b.State, b.Since = Holds, cmd.Heard()
	case renews && b.State == Holds:
		b.State = KnowsEnd
	case !renews:
		b.Tried = cmd
		if b.State == Unsure {
			b.State = Waiting
		}
	}
}

// Sale returns the indices of the first event on the stock and of the last write, or of the last read if there is no
// write; -1 for none. A script that writes may refuse before it reaches the stock.
func (c *Course) Sale() (first, last int) {
	first, last = -1, -1
	wrote := false
	for i := range c.Events {
		s := &c.Events[i]
		writes := s.WritesStock() || s.Usually(EffectWrote)
		if !writes && !s.ReadsStock() {
			continue
		}
		if first < 0 {
			first = i
		}
		if writes || !wrote {
			last, wrote = i, writes
		}
	}
	return first, last
}

// freed returns when an order sent its first release: after its sale, or, if early, after it knew of its acquire.
func (c *Course) freed(sale int, since Instant, early bool) Instant {
	for i := range c.Events {
		s := &c.Events[i]
		after := i > sale && sale >= 0 && s.Came() != c.Events[sale].Came() // one command may write and release
		if early || sale < 0 {
			after = !since.Known() || s.Came() >= since
		}
		if s.Releases() && after {
			return s.Came()
		}
	}
	return Never
}

// AwaitsReply reports whether the server had replied to the order by then, and the reply was not yet delivered: it
// queued behind one that a fault held, on the same connection.
func (c *Course) AwaitsReply(then Instant) bool {
	return c.Find(func(s *Event) bool { return s.End.Known() && s.End <= then && s.Heard() > then }) != nil
}

// IsWaiting reports whether the order has tried to acquire the lock in vain, or given it back, and has not sold. One
// that found at its release that it had lost the lock does not wait.
func (c *Course) IsWaiting() bool {
	b := &c.Last
	gaveBack := b.Took == nil || b.Freed != nil && b.Freed.Came() >= b.Took.Came()
	return b.Write == nil && (b.State == Waiting || b.State == HasFreed && gaveBack)
}

// Find returns the first event of the order that is of some kind, in the order in which they were sent; nil if none is.
func (c *Course) Find(is func(*Event) bool) *Event {
	for i := range c.Events {
		if is(&c.Events[i]) {
			return &c.Events[i]
		}
	}
	return nil
}

// FindLast returns the last such event, nil if there is none.
func (c *Course) FindLast(is func(*Event) bool) *Event {
	for i := len(c.Events) - 1; i >= 0; i-- {
		if is(&c.Events[i]) {
			return &c.Events[i]
		}
	}
	return nil
}

// WroteBefore reports whether a write of the stock by the order had taken effect by then.
func (c *Course) WroteBefore(then Instant) bool {
	return c.Find(func(s *Event) bool { return s.WritesStock() && s.Wrote() && s.At < then }) != nil
}

// CameAfter reports whether the order sent a command after then.
func (c *Course) CameAfter(then Instant) bool {
	return len(c.Events) > 0 && c.Events[len(c.Events)-1].Came() > then
}

// NextAfter returns when the order sent its first command after then, Never if it sent none.
func (c *Course) NextAfter(then Instant) Instant {
	if e := c.Find(func(s *Event) bool { return s.Came() > then }); e != nil {
		return e.Came()
	}
	return Never
}

// Writes reports whether the order tried to write the stock.
func (c *Course) Writes() bool {
	_, last := c.Sale()
	return last >= 0 && c.Events[last].WritesStock()
}

// TookBefore returns when the order last acquired the lock before then, Never if it had not.
func (c *Course) TookBefore(then Instant) Instant {
	last := c.FindLast(func(s *Event) bool { return s.Acquires() && s.Succeeded() && s.At < then })
	if last == nil {
		return Never
	}
	return last.At
}

// Courses returns the courses of all orders of the cell, and after them that of its stray commands, whose index is -1.
func (t *Timeline) Courses() (all []*Course) {
	for i := range t.cell.Ops {
		all = append(all, t.CourseOf(i))
	}
	strays := &Course{Op: &Op{Done: Never}, Index: -1}
	for i := range t.cell.Strays {
		cmd := &t.cell.Strays[i]
		strays.Events = append(strays.Events, Event{Command: cmd, Lock: t.byName[[2]string{cmd.Node, cmd.Key}]})
	}
	return append(all, strays)
}

// Walk visits the events of courses in the order in which the server carried them out, and with a nil event the end of
// each: when its customer stopped waiting.
func Walk(courses []*Course, visit func(*Course, *Event)) {
	type moment struct {
		at    Instant
		c     *Course
		event *Event
	}
	var all []moment
	for _, c := range courses {
		for i := range c.Events {
			all = append(all, moment{c.Events[i].At, c, &c.Events[i]})
		}
		if c.Index >= 0 {
			all = append(all, moment{c.Over(), c, nil})
		}
	}
	slices.SortStableFunc(all, func(x, y moment) int { return cmp.Compare(x.at, y.at) })
	for _, m := range all {
		visit(m.c, m.event)
	}
}

// FreedBefore reports whether the order had sent a release by then, and acquired nothing since.
func (c *Course) FreedBefore(then Instant) bool {
	freed := false
	for i := range c.Events {
		if s := &c.Events[i]; s.Came() <= then {
			freed = s.Releases() || freed && !s.Acquires()
		}
	}
	return freed
}

// WroteInVain reports whether the command that writes the stock found the lock lost, and wrote nothing.
func (c *Course) WroteInVain() bool {
	return slices.ContainsFunc(c.Events, func(s Event) bool {
		return s.Usually(EffectWrote) && s.End.Known() && !s.Wrote() && !s.ReadsStock() &&
			!slices.ContainsFunc(c.Events, func(other Event) bool { // its other effects
				return other.Wrote() && other.At == s.At
			})
	})
}

// RenewedAfter reports whether a renewal came after then.
func (c *Course) RenewedAfter(then Instant) bool {
	return c.Find(func(s *Event) bool { return s.Prolongs() && s.Came() > then }) != nil
}
