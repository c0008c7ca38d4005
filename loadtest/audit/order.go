package audit

import (
	"cmp"
	"fmt"
	"slices"

	"stockapi/loadtest/history"
)

// inOrder answers whether the lock was had in the order in which the orders came. It can only be asked where each was
// known to wait before the next one was sent.
func inOrder(l *leases) history.Finding {
	if !l.InLine {
		return history.Finding{Verdict: history.Order, Result: history.NotApplicable}
	}
	line := l.inLine()
	if why := l.untimed(line); why != "" {
		return found(history.Order, history.Unclear, "%s: who was first cannot be told", why)
	}
	if h := overtakings(line); h.total > 0 {
		return h.broken(history.Order, l.overtaking)
	}
	return history.Finding{Verdict: history.Order, Result: history.OK}
}

// untimed is why the leases of these orders cannot be put in order, or "".
func (l *leases) untimed(line []lease) string {
	if slices.ContainsFunc(line, func(one lease) bool { return one.clock != line[0].clock }) {
		return "the instances have no clock in common"
	}
	if len(line) > 0 && l.clocks.bounds[line[0].clock].set {
		return "the clock was set during the cell"
	}
	if l.unanswered > 0 {
		return fmt.Sprintf("%d orders were never answered", l.unanswered)
	}
	return ""
}

// inLine returns the leases of the buyers, as they came.
func (l *leases) inLine() []lease {
	var line []lease
	for _, one := range l.all {
		if one.buyer {
			line = append(line, one)
		}
	}
	slices.SortFunc(line, func(a, b lease) int {
		return cmp.Or(cmp.Compare(l.trips[a.op].sent, l.trips[b.op].sent), cmp.Compare(a.op, b.op))
	})
	return line
}

// overtakings returns each order that had the lock before one that had come earlier, with the last of those to have it.
// That one would have been overtaken by as much if the clock had been set back in between; then it was answered late.
func overtakings(line []lease) *hits {
	h := &hits{}
	latest := 0
	for i := range line {
		if line[i].acquired+line[i].late < line[latest].acquired {
			h.add(hit{at: history.Instant(i), a: line[i].op, b: line[latest].op})
		}
		if line[i].acquired > line[latest].acquired {
			latest = i
		}
	}
	return h
}

func (l *leases) overtaking(one hit) history.Evidence {
	op, earlier := *l.At(int(one.a)), *l.At(int(one.b))
	return history.Evidence{
		Text: fmt.Sprintf("%s on %s came at %s and had the lock at %s, before %s on %s, which had waited since %s",
			order(l.Cell, &op), op.Instance, op.Sent, op.Lease.AcquiredAt, order(l.Cell, &earlier), earlier.Instance, earlier.Sent),
		Orders: []string{op.Order, earlier.Order}, Instances: []string{op.Instance, earlier.Instance},
		At: []history.Instant{op.Lease.AcquiredAt, earlier.Lease.AcquiredAt},
	}
}
