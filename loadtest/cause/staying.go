package cause

import (
	"slices"
	"time"

	"stockapi/loadtest/history"
)

// Locks that stay.

func renewsAfterEnd(m *moment) string {
	const soon = history.Instant(200 * time.Millisecond)
	if m.isEnd() || !m.step.Prolongs() || !m.op.Done.Known() || m.step.Came() <= m.op.Done+soon {
		return ""
	}
	return m.name() + "'s lock was renewed " + since(m.op.Done, m.step.Came()) + " after its answer"
}

func staysWithoutTTL(m *moment) string {
	if !m.isStuck() || m.facts.TTL != 0 || m.facts.InValue != 0 || len(m.facts.Locks) == 0 {
		return ""
	}
	return m.name() + " got no unit"
}

func staysBeforeTTL(m *moment) string {
	if !m.isStuck() || !m.facts.TTLLater {
		return ""
	}
	return m.name() + " got no unit"
}

// stands is about an order that found a lock although the last order to acquire it had been over for longer than a
// fresh order may take. With several holders it is unknown whose lock it is.
func stands(m *moment) string {
	if m.isEnd() || m.step.Lock == nil || m.took() || !m.step.Prolongs() && !m.step.Acquires() {
		return ""
	}
	owner := m.step.Lock.OwnerAt(m.step.At)
	if owner == nil || owner.Order == m.op.Index && !m.step.Prolongs() || !owner.Alone {
		return ""
	}
	other := &m.Ops[owner.Order]
	over := max(min(other.Done, m.DiedAt(other.Instance)), owner.Sent) // an acquire may come late
	if !over.Known() || m.step.At-over <= history.Instant(m.Limit)+m.stalled {
		return ""
	}
	return m.name() + "'s " + m.step.Cmd + " found " + m.step.Command.Key + " " + since(over, m.step.At) + " after " +
		m.OrderName(other.Order) + "'s order was over"
}

// keepsWhatItTook is about an order that was refused, or whose customer hung up, and that has not released the lock.
func keepsWhatItTook(m *moment) string {
	op := m.op
	refused := op.Outcome == history.Busy || op.GaveUp == history.HungUp && op.Last.Write == nil
	if !m.isEnd() || !refused || op.Last.State != history.Holds || m.hasLostCommands() || op.RenewedAfter(op.Over()) ||
		m.DiedAt(op.Instance).Known() {
		return ""
	}
	return m.name() + " was refused, and kept the lock"
}

// hasLostCommands reports whether a fault may have kept a command of the order's from the server.
func (m *moment) hasLostCommands() bool {
	return slices.ContainsFunc(m.Faults, func(f history.Fault) bool {
		return hits(&f, m.op.Op) && f.Kind != "" && f.Kind != history.FaultHeld
	})
}

// leftBehind is about a lock without a working holder: the reply to its acquire was lost, and its order was refused.
func leftBehind(m *moment) string {
	last := &m.op.Last
	if !m.isEnd() || last.State == history.HasFreed || last.Took == nil || last.Took.Heard().Known() ||
		m.facts.TTL == 0 || last.Took.Endless() || m.op.Outcome == history.Sold || m.op.GaveUp != "" ||
		m.DiedAt(m.op.Instance).Known() {
		return ""
	}
	return "the lock stayed until its TTL although its order was refused: an acquire without a reply is not undone"
}

// findsItsOwn is about an order that retried such an acquire, and waited for its own key to expire.
func findsItsOwn(m *moment) string {
	if !m.took() {
		return ""
	}
	first := m.step.Key.Took
	met := m.step.Key.Tried
	if first == nil || first.Heard().Known() || m.freedBefore() || met == nil || met.Came() <= first.Came() ||
		m.step.At-first.At <= history.Instant(m.facts.TTL)*3/4 {
		return ""
	}
	return "a retried acquire found the key of its first attempt, and waited for that to expire"
}

// LongLease is the longest lease that a trial waits out. After a crash, a longer one is remarked on.
const LongLease = time.Minute

// blocks remarks on a lease that blocks all orders for long after a crash.
func (r *record) blocks() string {
	if r.facts.TTL <= LongLease || !slices.ContainsFunc(r.courses, r.diedHolding) {
		return ""
	}
	return "a crash blocks all orders for " + r.facts.TTL.String()
}

// diedHolding reports whether an order's instance was killed while it held the lock.
func (r *record) diedHolding(c *history.Course) bool {
	died := r.DiedAt(c.Instance)
	return c.Index >= 0 && died.Known() && c.Sent < died && c.Last.Took != nil && c.Last.State != history.HasFreed
}

// muchLonger is the least ratio of a lease to a plain sale that is a defect.
const muchLonger = 5000

// blocksForLong returns the defect of a lease that is out of proportion to a plain sale, as if seconds were taken for
// milliseconds; nil if it is not.
func (r *record) blocksForLong() *history.Defect {
	if r.blocks() == "" || r.facts.TTL < muchLonger*r.facts.Takes {
		return nil
	}
	return longLease.defect("%s, and a sale takes %s", r.blocks(), r.facts.Takes.Round(time.Millisecond))
}
