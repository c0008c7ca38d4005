package audit

import (
	"cmp"
	"fmt"
	"slices"

	"stockapi/loadtest/history"
)

// inOrder answers whether the lock was had in the order in which the orders came. It can only be asked where each was
// known to wait before the next one was sent.
func inOrder(c *history.Cell, k *clocks) history.Finding {
	if !c.InLine {
		return history.Finding{Verdict: history.Order, Result: history.NotApplicable}
	}
	line := inLine(c)
	if why := untimed(c, k, line); why != "" {
		return found(history.Order, history.Unclear, "%s: who was first cannot be told", why)
	}
	if ev := overtakings(c, line); len(ev) > 0 {
		return broken(history.Order, ev, len(ev))
	}
	return history.Finding{Verdict: history.Order, Result: history.OK}
}

// untimed is why the leases of these orders cannot be put in order, or "".
func untimed(c *history.Cell, k *clocks, line []*history.Op) string {
	if slices.ContainsFunc(line, func(op *history.Op) bool { return k.clock(op.Instance) != k.clock(line[0].Instance) }) {
		return "the instances have no clock in common"
	}
	if n := unanswered(c); n > 0 {
		return fmt.Sprintf("%d orders were never answered", n)
	}
	return ""
}

// inLine returns the buyers that had the lock, as they came.
func inLine(c *history.Cell) []*history.Op {
	var line []*history.Op
	for i := range c.Ops {
		if op := &c.Ops[i]; op.Phase == history.Buy && op.Lease != nil {
			line = append(line, op)
		}
	}
	slices.SortStableFunc(line, func(a, b *history.Op) int { return cmp.Compare(a.Sent, b.Sent) })
	return line
}

// overtakings returns each order that had the lock before one that had come earlier.
func overtakings(c *history.Cell, line []*history.Op) []history.Evidence {
	var ev []history.Evidence
	for i, op := range line {
		for _, earlier := range line[:i] {
			if op.Lease.AcquiredAt < earlier.Lease.AcquiredAt {
				ev = append(ev, history.Evidence{
					Text: fmt.Sprintf("%s on %s came at %s and had the lock at %s, before %s on %s, which had waited since %s",
						order(c, op), op.Instance, op.Sent, op.Lease.AcquiredAt, order(c, earlier), earlier.Instance, earlier.Sent),
					Orders: []string{op.Order, earlier.Order}, Instances: []string{op.Instance, earlier.Instance},
					At: []history.Instant{op.Lease.AcquiredAt, earlier.Lease.AcquiredAt},
				})
				break
			}
		}
	}
	return ev
}
