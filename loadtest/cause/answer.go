package cause

import (
	"slices"
	"time"

	"stockapi/loadtest/history"
)

// Answers.

func sellsNothing(m *moment) string {
	op, read := m.op, m.op.Last.ReadHeld
	if !m.isEnd() || !op.Done.Known() || op.Outcome == history.Sold || op.Outcome == history.Unknown ||
		m.isFaulted(op.Op) || read == nil || op.Last.Failed != nil || op.Writes() {
		return ""
	}
	if n, err := numberIn(read.Reply); err != nil || n <= 0 {
		return ""
	}
	return m.name() + " held the lock, found stock and sold nothing"
}

// sellsInVain is about an order that a fault hit before its answer, and that took no unit: more orders were told that
// they sold than units are gone.
func sellsInVain(m *moment) string {
	op := m.op
	hit := slices.ContainsFunc(m.Faults, func(f history.Fault) bool { return f.Order == op.Order && f.At <= op.Done })
	if !m.isEnd() || !hit || !isTold(op.Op) || op.CameAfter(op.Done) || op.Last.Took == nil ||
		op.Last.Write != nil || m.Left == nil || m.Count != nil {
		return ""
	}
	told := int64(0)
	for i := range m.Ops {
		if isTold(&m.Ops[i]) {
			told++
		}
	}
	if gone := m.Initial - *m.Left; told <= gone {
		return ""
	}
	return m.name() + " was told of a sale, and no unit was taken"
}

// isTold reports whether a customer was told that the order has sold.
func isTold(op *history.Op) bool {
	return op.Phase == history.Buy && op.Outcome == history.Sold && op.Status != accepted && op.Done.Known()
}

// answersLate is about an order that was answered long after its write, not counting faults, or never.
func answersLate(m *moment) string {
	const long = history.Instant(5 * time.Second)
	if !m.isEnd() || m.op.Last.Write == nil || m.DiedAt(m.op.Instance).Known() {
		return ""
	}
	wrote := m.op.Last.Write.Heard()
	switch {
	case !wrote.Known():
		return ""
	case m.op.GaveUp == history.TimedOut:
		return m.name() + " took its unit, and was never answered"
	}
	gap := m.op.Done - wrote
	for _, f := range m.Faults {
		if from, to := max(f.At, wrote), min(f.End, m.op.Done); from < to {
			gap -= to - from
		}
	}
	if !m.op.Done.Known() || gap < long+m.stalled {
		return ""
	}
	return m.name() + " was answered " + since(0, gap) + " after its write"
}

func acceptsFirst(m *moment) string {
	if !m.sold() || m.op.Status != accepted || !m.op.Done.Known() || m.step.Came() <= m.op.Done {
		return ""
	}
	return m.name() + " was answered 202 before its unit was taken"
}
