package cause

import (
	"slices"

	"stockapi/loadtest/history"
)

// Sales, releases and renewals by orders that do not hold the lock.

func releasesUnheld(m *moment) string {
	if !m.frees() || m.step.Took != nil || m.step.Granted != nil || m.facts.Name || m.isCovered(m.step.At-1) {
		return ""
	}
	return m.name() + "'s " + m.step.Cmd + " removed " + m.step.Command.Key
}

func writesAfterRelease(m *moment) string {
	if !m.sold() || m.step.State != history.HasFreed || m.step.Freed == nil {
		return ""
	}
	return m.name() + "'s " + m.step.Cmd + " of the stock came " + since(m.step.Freed.Came(), m.step.Came()) +
		" after it had released the lock"
}

// releasesBeforeReply is about an order that does not wait for the reply to its write before it releases the lock, on
// another connection.
func releasesBeforeReply(m *moment) string {
	if !m.frees() || m.step.Wire == nil {
		return ""
	}
	isLate := slices.ContainsFunc(m.Faults, func(f history.Fault) bool { return f.Kind == history.FaultLate })
	w := m.step.Write
	if isLate || w == nil || w.Wire == nil || w.Wire.Conn == m.step.Wire.Conn || w.Heard() <= m.step.Came() ||
		w.At <= m.step.At {
		return ""
	}
	return m.name() + "'s " + m.step.Cmd + " freed the lock " + since(m.step.At, w.At) +
		" before its write of the stock, to which it had no reply yet"
}

// isUnlocked reports whether an order sells that has never held the lock, and none at its instance may hold it for it.
func (m *moment) isUnlocked() bool {
	return m.sold() && m.step.Granted == nil && m.step.State != history.HasFreed && m.step.State != history.Holds &&
		!m.op.TookBefore(m.step.At+1).Known() && len(m.facts.Locks) > 0 && !m.isCovered(m.step.At)
}

func sellsRefused(m *moment) string {
	if !m.isUnlocked() || m.step.Tried == nil {
		return ""
	}
	return m.name() + " wrote the stock " + since(m.step.Tried.At, m.step.At) + " after it had found the lock taken"
}

func sellsUnlocked(m *moment) string {
	if !m.isUnlocked() {
		return ""
	}
	return m.name() + "'s " + m.step.Cmd + " of the stock came without an acquire"
}

// takesAgain reports whether an order acquires a key that it believes to hold.
func (m *moment) takesAgain() bool { return m.took() && m.step.Key.State == history.Holds }

func renewalTakesAnothers(m *moment) string {
	other := m.holder()
	if !m.takesAgain() || !m.overwrites() || other == nil || other.Instance == m.op.Instance {
		return ""
	}
	return m.name() + "'s " + m.step.Cmd + ", " + since(m.step.Key.Took.At, m.step.At) + " after its acquire, took " +
		m.step.Command.Key + " from " + m.OrderName(other.Order)
}

func renewalRecreates(m *moment) string {
	if !m.takesAgain() || !m.step.Usually(history.EffectRenewed) {
		return ""
	}
	return m.name() + "'s " + m.step.Cmd + " recreated " + m.step.Command.Key + " " +
		since(m.step.Key.Took.At, m.step.At) + " after its acquire"
}

// accepted is the status of an answer that is not a sale yet.
const accepted = 202

// writesAfterAnswer is about the first write. With several open orders at an instance, a late one may be that of any.
func writesAfterAnswer(m *moment) string {
	op := m.op
	if m.isEnd() || !m.step.WritesStock() || m.step.Wrote() && m.step.Write != nil || op.Outcome != history.Sold ||
		!op.Done.Known() || m.step.Came() <= op.Done || m.hasNeighbour(m.step.Came()) || op.Status == accepted {
		return ""
	}
	return m.name() + "'s " + m.step.Cmd + " of the stock came " + since(op.Done, m.step.Came()) + " after its answer"
}

// hasNeighbour reports whether another order was open at the order's instance at a moment.
func (m *moment) hasNeighbour(then history.Instant) bool {
	return slices.ContainsFunc(m.Ops, func(other history.Op) bool {
		return other.Order != m.op.Order && other.Instance == m.op.Instance && other.Sent <= then && then <= other.Over()
	})
}

func diesAfterAnswer(m *moment) string {
	op := m.op
	died := m.DiedAt(op.Instance)
	if !m.isEnd() || op.Outcome != history.Sold || op.Status == accepted || !op.Done.Known() || op.Writes() ||
		op.Phase != history.Buy || len(op.Events) == 0 || !died.Known() || op.Done >= died {
		return ""
	}
	return m.name() + " was answered, and its instance killed before the write of the stock"
}
