package cause

import (
	"slices"

	"stockapi/loadtest/history"
)

// removed returns the defect by which an order removed another's lock, as the audit has found.
func (r *record) removed(f history.Finding) *history.Defect {
	for i := range r.line.Removals {
		if m := &r.line.Removals[i]; m.Foreign() && len(f.Evidence) > 0 && r.Ops[m.Order].Order == f.Evidence[0].Orders[0] {
			if cmd := r.commandOf(m); cmd != nil {
				return r.howItRemoved(m, cmd).defect("%s", f.Because)
			}
		}
	}
	return nil
}

// commandOf returns the command of a removal.
func (r *record) commandOf(m *history.Removal) *history.Command {
	trace := r.Ops[m.Order].Trace
	for i := range trace {
		if cmd := &trace[i]; cmd.Releases() && cmd.At == m.At && (m.Lock() == nil || cmd.Key == m.Lock().Key) {
			return cmd
		}
	}
	return nil
}

// howItRemoved returns why a command removed the lock of another order. It compares the removed value with that of the
// remover's own acquire, and with those that the command names.
func (r *record) howItRemoved(m *history.Removal, cmd *history.Command) cause {
	op, other := &r.Ops[m.Order], &r.Ops[m.By]
	own, again := valueOf(op, cmd)
	names := func(value string) bool { return cmd.Wire != nil && slices.Contains(cmd.Wire.Named, value) }
	was, compared := "", false
	if cmd.Wire != nil {
		was, compared = cmd.Wire.Was, cmd.Wire.Compared
	}
	switch {
	case names(was) && own != was:
		return oneObject
	case compared && own == was && r.isOfInstance(op, other, was):
		return oneForInstance
	case compared && own == was:
		return oneForAll
	case compared:
		return comparedPart
	case again:
		return releasedTwice
	case r.looked(op, cmd):
		return removedLater
	}
	return removedBlindly
}

// valueOf returns the value of an order's last acquire before a command, and whether it has released the lock since.
func valueOf(op *history.Op, cmd *history.Command) (value string, released bool) {
	for _, one := range on(op, cmd.Key) {
		switch {
		case one.At >= cmd.At:
			return value, released
		case took(one) && one.Wire != nil:
			value, released = one.Wire.Is, false
		case one.Releases():
			released = true
		}
	}
	return value, released
}

// isOfInstance reports whether a value is the instance's: both orders are on one, and each instance has its own value.
func (r *record) isOfInstance(op, other *history.Op, value string) bool {
	return op.Instance == other.Instance && r.facts.Name && value != ""
}

// looked reports whether an order read the lock between its last acquire and a command that removed it.
func (r *record) looked(op *history.Op, cmd *history.Command) bool {
	looked := false
	for _, one := range on(op, cmd.Key) {
		switch {
		case one.At >= cmd.At:
			return looked
		case took(one), one.Releases():
			looked = false
		case one.Prolongs(), one.Ended():
		default:
			looked = true
		}
	}
	return looked
}
