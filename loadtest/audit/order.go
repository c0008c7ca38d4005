package audit

import (
	"cmp"
	"fmt"
	"slices"

	"stockapi/loadtest/history"
)

// inOrder judges whether the orders acquired the lock in order of arrival. It is only judged where each
// order is known to wait before the next one is sent.
func inOrder(b *books) history.Finding {
	if !b.InLine {
		return history.Finding{Verdict: history.InOrder, Result: history.NotApplicable}
	}
	if why := b.clocks.notJudged(); why != "" {
		return answer(history.InOrder, history.NotApplicable, "%s", why)
	}
	if b.unanswered > 0 {
		return answer(history.InOrder, history.Indeterminate,
			"%d orders were never answered: which came first is unknown", b.unanswered)
	}
	if h := overtakings(b.inLine()); h.total > 0 {
		return h.broken(history.InOrder, b.overtaking)
	}
	return history.Finding{Verdict: history.InOrder, Result: history.OK}
}

// inLine returns the leases of the buyers in order of arrival.
func (b *books) inLine() []lease {
	var line []lease
	for _, one := range b.leases {
		if one.buyer {
			line = append(line, one)
		}
	}
	slices.SortFunc(line, func(a, b lease) int {
		return cmp.Or(cmp.Compare(a.sent, b.sent), cmp.Compare(a.op, b.op))
	})
	return line
}

// overtakings returns each order that acquired the lock before an order that had arrived earlier, paired with the last
// of those to acquire it.
func overtakings(line []lease) *violations {
	h := &violations{}
	latest := 0
	for i := range line {
		if line[i].acquired < line[latest].acquired {
			h.add(violation{at: history.Instant(i), a: line[i].op, b: line[latest].op})
		}
		if line[i].acquired > line[latest].acquired {
			latest = i
		}
	}
	return h
}

func (b *books) overtaking(one violation) history.Evidence {
	op, earlier := b.ops[one.a], b.ops[one.b]
	return evidence(fmt.Sprintf(
		"%s on %s arrived at %s and acquired the lock at %s, before %s on %s, which had waited since %s",
		order(b.Cell, op), op.Instance, op.Sent, op.Lease.AcquiredAt,
		order(b.Cell, earlier), earlier.Instance, earlier.Sent),
		[]history.Instant{op.Lease.AcquiredAt, earlier.Lease.AcquiredAt}, op, earlier)
}
