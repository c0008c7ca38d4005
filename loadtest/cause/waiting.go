package cause

import (
	"slices"
	"time"

	"stockapi/loadtest/history"
)

// Waiters.

// staysAsleep is about an order that waited in vain for a released lock, for as long as a fresh order may take: stock
// is left in every cell. Fresh orders find one that sleeps past an expiry, after the holder has died.
func staysAsleep(m *moment) string {
	op := m.op
	waited := op.Done.Known() || op.GaveUp == history.TimedOut
	until := op.Over()
	if !m.isEnd() || !waited || op.Outcome == history.Sold || m.hasUs() || !op.IsWaiting() || op.AwaitsReply(until) {
		return ""
	}
	freed, how, free := m.line.FreeAt(until)
	if freed = max(freed, op.Sent); !free || how != history.Released && how != history.Removed ||
		m.idle(freed, until) < Margin+m.stalled {
		return ""
	}
	return m.name() + " got no unit in the " + since(freed, until) +
		" after the lock was released, although it stayed free"
}

// sleeps is about an order that had tried the lock, and did not poll once a release or the expiry had freed it.
func sleeps(m *moment) string {
	op, over := m.op, m.op.Over()
	freed, _, free := m.line.FreeAt(over)
	freed = max(freed, op.Sent)
	if !m.isEnd() || !free || op.Last.State != history.Waiting && op.Last.State != history.Unsure || op.Last.Took != nil ||
		op.CameAfter(freed) || op.AwaitsReply(over) || m.idle(freed, over) < Margin+m.stalled {
		return ""
	}
	return m.name() + " slept for " + since(freed, over) + " while the lock was free"
}

// idle returns the time between two moments in which no fault kept the order from sending commands.
func (m *moment) idle(from, to history.Instant) history.Instant {
	idle := to - from
	for _, f := range m.Faults {
		keeps := false
		switch f.Kind {
		case history.FaultStop, history.FaultCut:
			keeps = f.Instance == m.op.Instance
		case history.FaultHeld:
			keeps = f.Order == m.op.Order
		case history.FaultLate, history.FaultLost: // its client may wait for the reply
			keeps = f.Order == m.op.Order && f.Command != history.CommandRenewal
			f.End = max(f.End, m.op.NextAfter(f.At))
		}
		if keeps {
			idle -= max(0, min(f.End, to)-max(f.At, from))
		}
	}
	return idle
}

func sleptOn(m *moment) string {
	const long = history.Instant(time.Second)
	if !m.took() || m.step.Asked == nil {
		return ""
	}
	came := m.step.Came()
	freed, how, free := m.line.FreeAt(came - 1)
	if how == history.NoEnd || !free || freed < m.op.Sent || m.idle(freed, came) < long+m.stalled ||
		m.step.Active > freed {
		return ""
	}
	return m.name() + " slept for " + since(freed, came) + " while the lock was free"
}

// isStuck reports whether a fresh order has not sold.
func (m *moment) isStuck() bool {
	return m.isEnd() && m.op.Phase == history.Probe && m.op.Outcome != history.Sold
}

func unwoken(m *moment) string {
	if m.isStuck() && m.facts.Messages {
		return m.name() + " got no unit"
	}
	if !m.isStuck() {
		return ""
	}
	return sleeps(m)
}

func diesWaiting(m *moment) string {
	if !m.hasDied() || m.op.Last.Took != nil {
		return ""
	}
	return m.name() + "'s instance was killed while it waited"
}

// hasDied reports whether an order's instance was killed when it had tried to acquire the lock.
func (m *moment) hasDied() bool {
	died := m.DiedAt(m.op.Instance)
	return m.isEnd() && died.Known() && m.op.Done >= died && m.op.Last.Asked != nil
}

// staysInLine is about an order that died, or lost a command by a fault, and keeps others out when the lock is free
// again.
func staysInLine(m *moment) string {
	failed := m.isEnd() && m.op.Done.Known() && m.op.Last.Asked != nil && m.hasLostCommands()
	if !m.hasDied() && !failed || !m.isFreeInVain() {
		return ""
	}
	return m.name() + "'s order was over, and others tried in vain when the lock was free"
}

// isFreeInVain reports whether an order that never got the lock did not get it when it had been free for a while. Such
// a try is no attempt on a lock that is held.
func (m *moment) isFreeInVain() bool {
	const while = history.Instant(200 * time.Millisecond)
	return slices.ContainsFunc(m.courses, func(c *history.Course) bool {
		return c.Last.Took == nil && c.FindLast(func(e *history.Event) bool {
			since, how, free := m.line.FreeAt(e.At)
			return e.Usually(history.EffectAcquired) && !e.Acquires() && free && how != history.NoEnd && e.At-since > while
		}) != nil
	})
}

func extendsAnothers(m *moment) string {
	other := m.holderAfter(0)
	if other == nil || !m.step.Prolongs() || !m.step.Succeeded() || m.facts.Kind != "string" || // else it may be shared
		other.Order == m.op.Order || m.facts.Name && other.Instance == m.op.Instance {
		return ""
	}
	return m.name() + "'s " + m.step.Cmd + " extended " + m.OrderName(other.Order) + "'s lock"
}
