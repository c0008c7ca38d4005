package cause

import (
	"slices"

	"stockapi/loadtest/history"
)

// Removals of another order's lock are one event, told apart by what the command compared and named.

// removal returns the removal of another order's lock by the step, nil if it is none.
func (m *moment) removal() *history.Removal {
	if !m.frees() {
		return nil
	}
	for i := range m.line.Removals {
		if one := &m.line.Removals[i]; one.Order == m.op.Index && one.At == m.step.At && one.Foreign() &&
			(one.Lock() == nil || one.Lock() == m.step.Lock) {
			return one
		}
	}
	return nil
}

// A theft is such a removal.
type theft struct {
	own, was string   // the values that the remover had given its lock, and of the removed one
	named    []string // the values that the command names
	compared bool
	remover  *moment
	other    *history.Op
	looked   bool   // the remover had read the lock since its acquire
	read     string // the value that it last read so
	again    bool   // it had released the lock since its acquire
}

// removes returns the row's function for removals of that kind.
func removes(is func(*theft) bool) func(*moment) string {
	return func(m *moment) string {
		one := m.removal()
		if one == nil {
			return ""
		}
		t := &theft{remover: m, other: &m.Ops[one.By], looked: m.step.Key.Looked != nil,
			again: m.freedBefore(), own: m.step.Key.Value}
		if m.step.Wire != nil {
			t.was, t.named, t.compared = m.step.Wire.Was, m.step.Wire.Named, m.step.Wire.Compared
		}
		if looked := m.step.Key.Looked; looked != nil && looked.Wire != nil {
			t.read = looked.Wire.Is
		}
		if !is(t) {
			return ""
		}
		return m.name() + "'s " + m.step.Cmd + " removed " + m.OrderName(t.other.Order) + "'s lock"
	}
}

// freedBefore reports whether an order had released the key since it acquired it.
func (m *moment) freedBefore() bool {
	freed, took := m.step.Key.Freed, m.step.Key.Took
	return freed != nil && (took == nil || freed.Came() > took.Came())
}

// namesRead reports whether the remover names, as the value to compare, the value that it has just read: any lock has
// that.
func (t *theft) namesRead() bool { return t.namesIt() && t.read == t.was }

func (t *theft) namesIt() bool {
	return t.own != "" && t.own != t.was && slices.Contains(t.named, t.was)
}

func (t *theft) passesComparison() bool { return t.compared && t.own == t.was }

func (t *theft) isOfInstance() bool {
	return t.passesComparison() && t.remover.op.Instance == t.other.Instance && t.remover.facts.Name && t.was != ""
}

func (t *theft) comparesPart() bool { return t.compared }

func (t *theft) isAgain() bool { return t.again }

func (t *theft) isLater() bool { return t.looked }

func (t *theft) isBlind() bool { return true }
