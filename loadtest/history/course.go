package history

import (
	"cmp"
	"slices"
)

// A Course is what an order did, step by step, and what it knew of its lock as it sent each command. An event is judged
// by what its order knew then; its effect, by the lock when the server carried the command out: see [Timeline].
type Course struct {
	*Op
	Order int // its index in the cell's Ops
	Steps []Step
	Last  Belief // after all of them
}

// A Step is a command of an order. Notes among its commands are no steps.
type Step struct {
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
	// ReadEarly is its last read of the stock without the lock, ReadHeld the last under it, and Wrote the last write of
	// the stock that took effect. Failed is its last command with an error, or without a reply.
	ReadEarly, ReadHeld, Wrote, Failed *Command
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

// CourseOf returns the course of an order. The course of an answer that belongs to another order has no steps.
func (t *Timeline) CourseOf(order int) *Course {
	m := &monitor{line: t, Course: &Course{Op: &t.cell.Ops[order], Order: order}, of: map[*Lock]*Belief{},
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
	due  []*Step // sent and not yet heard of, by when the reply arrives
}

func (m *monitor) run() {
	for i := range m.Trace {
		if cmd := &m.Trace[i]; !cmd.Fault() && !cmd.Cut() && !cmd.Woken() && !cmd.Ended() {
			m.Steps = append(m.Steps, Step{Command: cmd, Lock: m.line.byName[[2]string{cmd.Node, cmd.Key}]})
		}
	}
	slices.SortStableFunc(m.Steps, func(x, y Step) int { return cmp.Compare(x.Came(), y.Came()) })
	for i := range m.Steps {
		s := &m.Steps[i]
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
func (m *monitor) send(s *Step) {
	m.all.Active = s.Came()
	if s.Heard().Known() {
		i, _ := slices.BinarySearchFunc(m.due, s.Heard()+1, func(d *Step, at Instant) int { return cmp.Compare(d.Heard(), at) })
		m.due = slices.Insert(m.due, i, s)
	}
	m.all.sale(s.Command)
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
func (s *Step) isOnLock() bool {
	return s.Lock != nil || !s.WritesStock() && (s.Acquires() || s.Releases())
}

// both changes what the order knows of a key, and of all.
func (m *monitor) both(s *Step, change func(*Belief, *Command)) {
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
		b.Wrote = cmd
	case cmd.ReadsStock() && b.State == Holds:
		b.ReadHeld = cmd
	case cmd.ReadsStock():
		b.ReadEarly = cmd
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
			b.Took, b.Looked = cmd, nil
		}
	case cmd.Releases():
		b.State, b.Freed, b.Looked = HasFreed, cmd, nil
	case cmd.Prolongs():
	default:
		b.Looked = cmd
	}
}

func (b *Belief) hear(cmd *Command) {
	renews := cmd.Usually(EffectRenewed) && !cmd.Usually(EffectAcquired)
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

// Sale returns the indices of the first step on the stock and of the last write, or of the last read if there is no
// write; -1 for none. A script that writes may refuse before it reaches the stock.
func (c *Course) Sale() (first, last int) {
	first, last = -1, -1
	wrote := false
	for i := range c.Steps {
		s := &c.Steps[i]
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
	for i := range c.Steps {
		s := &c.Steps[i]
		after := i > sale && sale >= 0 && s.Came() != c.Steps[sale].Came() // one step may write and release
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
	return slices.ContainsFunc(c.Steps, func(s Step) bool { return s.End.Known() && s.End <= then && s.Heard() > then })
}

// IsWaiting reports whether the order has tried to acquire the lock in vain, or given it back, and has not sold.
func (c *Course) IsWaiting() bool {
	return c.Last.Wrote == nil && (c.Last.State == Waiting || c.Last.State == HasFreed)
}
