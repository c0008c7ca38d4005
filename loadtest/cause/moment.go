package cause

import (
	"slices"

	"stockapi/loadtest/history"
)

// A moment is a step of an order's course or, without one, the order's end.
type moment struct {
	*record
	op   *history.Course
	step *history.Event
}

func (m *moment) name() string { return m.OrderName(m.op.Order) }

func (m *moment) at() history.Instant {
	if m.step == nil {
		return m.op.Over()
	}
	return m.step.At
}

// about returns the order that a row is about: whose lock the step ends, or else its own.
func (m *moment) about(of *row) int {
	if of.kind == ending || of.kind == stray {
		if one := m.removal(); one != nil {
			return one.By
		}
		if h := m.step.Lock.HolderAt(m.step.At - 1); h.Tenure != nil {
			return h.Tenure.Order
		}
	}
	return m.op.Index
}

func (m *moment) isEnd() bool { return m.step == nil }

func (m *moment) took() bool { return m.step != nil && took(m.step.Command) }

func (m *moment) sold() bool { return m.step != nil && sold(m.step.Command) }

func (m *moment) frees() bool { return m.step != nil && m.step.Releases() }

// holder returns the order that held the key just before the step, nil if it was free, or it is unknown which did.
func (m *moment) holder() *history.Op { return m.holderAfter(-1) }

// holderAfter returns the order that held the key that long after the step.
func (m *moment) holderAfter(d history.Instant) *history.Op {
	if m.step == nil || m.step.Lock == nil {
		return nil
	}
	if h := m.step.Lock.HolderAt(m.step.At + d); h.Known && h.Tenure != nil {
		return &m.Ops[h.Tenure.Order]
	}
	return nil
}

// isCovered reports whether another order at the same instance may hold the lock for this one, at that instant.
func (m *moment) isCovered(at history.Instant) bool {
	return slices.ContainsFunc(m.line.Locks, func(l *history.Lock) bool {
		h := l.HolderAt(at)
		return !h.Known || h.Tenure != nil && m.Ops[h.Tenure.Order].Instance == m.op.Instance
	})
}

// isFaulted reports whether a fault hit an order, or its instance while the order was open.
func (r *record) isFaulted(op *history.Op) bool {
	return slices.ContainsFunc(r.Faults, func(f history.Fault) bool { return hits(&f, op) })
}

func hits(f *history.Fault, op *history.Op) bool {
	return f.Order == op.Order || f.Instance == op.Instance && f.At < op.Over() && f.End > op.Sent
}

// renewalsFaulted reports whether a fault kept an order from renewing its lock.
func (r *record) renewalsFaulted(op *history.Op) bool {
	return slices.ContainsFunc(r.Faults, func(f history.Fault) bool {
		if !hits(&f, op) {
			return false
		}
		switch f.Kind {
		case history.FaultStop, history.FaultKill, history.FaultDied, history.FaultCut:
			return true
		case history.FaultHeld, history.FaultLate, history.FaultLost:
			return f.Command == history.CommandRenewal || r.facts.Shared
		}
		return false
	})
}
