package cause

import (
	"strconv"

	"stockapi/loadtest/history"
)

// Second holders of a lock.

// overwrites reports whether an acquire replaced a value that was there.
func (m *moment) overwrites() bool { return m.took() && m.step.Wire != nil && m.step.Wire.Was != "" }

// takesFrom returns what shows that an acquire replaced another order's lock.
func (m *moment) takesFrom() string {
	other := m.holder()
	if !m.overwrites() || other == nil || other.Order == m.op.Order {
		return ""
	}
	return m.name() + "'s " + m.step.Cmd + " replaced " + m.OrderName(other.Order) + "'s lock"
}

func renewalReplaces(m *moment) string {
	if m.isEnd() || !m.step.RenewsOnly() {
		return ""
	}
	return m.takesFrom()
}

func replacesKnown(m *moment) string {
	if m.isEnd() || m.step.Key.State != history.Waiting && m.step.Key.Tried == nil {
		return ""
	}
	return m.takesFrom()
}

func replacesUnseen(m *moment) string { return m.takesFrom() }

func sellsWithFewKeys(m *moment) string {
	if n := len(m.facts.Locks); !m.sold() || n < 2 || m.step.Keys == 0 || m.step.Keys > n/2 {
		return ""
	}
	return m.name() + " sold with " + strconv.Itoa(m.step.Keys) + " of " + strconv.Itoa(len(m.facts.Locks)) + " keys"
}

func sellsUnderAnothers(m *moment) string {
	if !m.sold() || !m.facts.Name || m.op.TookBefore(m.step.At).Known() || m.step.Asked == nil {
		return ""
	}
	return m.name() + " sold under another order's lock"
}

// loss returns the last tenure of the order when it sent the command, if that had ended without a release, else nil.
func (m *moment) loss() *history.Tenure {
	sent := m.step.Came()
	for _, l := range m.line.Locks {
		if h := l.TenureOf(m.op.Index, sent); h != nil && h.Lost() && h.Since <= sent {
			return h
		}
	}
	return nil
}

func sellsAfterExpiry(m *moment) string {
	if !m.sold() || !m.facts.ExpiresInASale() {
		return ""
	}
	if h := m.loss(); h == nil || h.How != history.Expired || h.Note != "" {
		return ""
	}
	return m.name() + "'s lease expired before its write"
}

func stopsRenewing(m *moment) string {
	if !m.sold() || m.facts.Every == 0 {
		return ""
	}
	h := m.loss()
	if h == nil || h.How != history.Expired || h.Note != "" || m.renewalsFaulted(m.op.Op) {
		return ""
	}
	return m.name() + "'s lease expired before its write"
}

// strayRemoves is about a command outside any order that removes a lock that is held.
func strayRemoves(m *moment) string {
	other := m.holder()
	if !m.frees() || other == nil || m.step.Wire == nil || !m.step.Wire.Background {
		return ""
	}
	return "a " + m.step.Cmd + " of no order's removed " + m.OrderName(other.Order) + "'s lock"
}

func renewalRemoves(m *moment) string {
	if !m.frees() || !m.step.RenewsOnly() || m.step.Key.State != history.Holds || m.removal() != nil {
		return ""
	}
	return m.name() + "'s " + m.step.Cmd + " removed its own lock"
}

// givesTooMuch is about an order that gives its place in a lock back once more, while that is free.
func givesTooMuch(m *moment) string {
	if m.isEnd() || m.step.State != history.HasFreed || !m.step.GivesTooMuch() {
		return ""
	}
	return m.name() + "'s " + m.step.Cmd + " came after its release, and gave back a place in " + m.step.Command.Key +
		" that no order held"
}
