package audit

import (
	"cmp"
	"fmt"
	"slices"
	"sort"

	"stockapi/loadtest/history"
)

// fence answers whether the fencing tokens grew with every acquisition. A token is only held against another if
// the one acquisition had surely ended before the other began; between two that may have crossed, either order
// is right. The same token twice is wrong in any order.
func fence(c *history.Cell, k *clocks) history.Finding {
	grants := fenced(c, k)
	if len(grants) == 0 {
		return history.Finding{Verdict: history.Fence, Result: history.NotApplicable}
	}
	if id, yes := k.stepped(); yes {
		return found(history.Fence, history.Unclear, "the clock %q was set during the cell: its times cannot be compared", id)
	}
	ev := append(sameToken(c, grants), fellBack(c, grants, k)...)
	if len(ev) > 0 {
		return broken(history.Fence, ev, len(ev))
	}
	if n := unanswered(c); n > 0 {
		return found(history.Fence, history.Unclear, "%d orders were never answered: their tokens are not known", n)
	}
	return history.Finding{Verdict: history.Fence, Result: history.OK}
}

// grant is the giving of one token: it happened between begun and ended, by the instance's clock.
type grant struct {
	op           *history.Op
	clock        string
	begun, ended history.Instant
}

func fenced(c *history.Cell, k *clocks) []grant {
	var grants []grant
	for i := range c.Ops {
		if op := &c.Ops[i]; op.Lease != nil && op.Lease.Fence != 0 {
			id := k.clock(op.Instance)
			grants = append(grants, grant{op, id, begun(op, k.bound(id)), op.Lease.AcquiredAt})
		}
	}
	return grants
}

// begun is the latest command before the acquire returned that can have been the acquiring one; without a trace,
// the earliest moment at which the order can have arrived.
func begun(op *history.Op, b bound) history.Instant {
	for _, cmd := range slices.Backward(op.Trace) {
		if cmd.End <= op.Lease.AcquiredAt && succeeded(&cmd) {
			return cmd.At
		}
	}
	return op.Sent + b.lo
}

func sameToken(c *history.Cell, grants []grant) []history.Evidence {
	first := map[int64]*history.Op{}
	var ev []history.Evidence
	for _, g := range grants {
		token := g.op.Lease.Fence
		if other := first[token]; other != nil {
			ev = append(ev, tokens(other, g.op, fmt.Sprintf("%s and %s both got token %d", order(c, other), order(c, g.op), token)))
			continue
		}
		first[token] = g.op
	}
	return ev
}

// fellBack looks, for each grant, at the highest token among those surely given before it.
func fellBack(c *history.Cell, grants []grant, k *clocks) []history.Evidence {
	byClock := map[string][]grant{}
	for _, g := range grants {
		byClock[g.clock] = append(byClock[g.clock], g)
	}
	var ev []history.Evidence
	for id, earlier := range byClock {
		slices.SortStableFunc(earlier, func(a, b grant) int { return cmp.Compare(a.ended, b.ended) })
		highest := runningMax(earlier)
		for _, g := range grants {
			begun := g.begun + k.shift(g.clock, id).lo
			n := sort.Search(len(earlier), func(i int) bool { return earlier[i].ended > begun })
			if n > 0 && highest[n-1].Lease.Fence > g.op.Lease.Fence {
				h := highest[n-1]
				ev = append(ev, tokens(h, g.op, fmt.Sprintf("%s got token %d at %s, and %s only token %d at %s",
					order(c, h), h.Lease.Fence, h.Lease.AcquiredAt, order(c, g.op), g.op.Lease.Fence, g.ended)))
			}
		}
	}
	return ev
}

func runningMax(grants []grant) []*history.Op {
	highest := make([]*history.Op, len(grants))
	for i, g := range grants {
		highest[i] = g.op
		if i > 0 && highest[i-1].Lease.Fence > g.op.Lease.Fence {
			highest[i] = highest[i-1]
		}
	}
	return highest
}

func tokens(a, b *history.Op, text string) history.Evidence {
	return history.Evidence{
		Text: text, Orders: []string{a.Order, b.Order}, Instances: []string{a.Instance, b.Instance},
		At: []history.Instant{a.Lease.AcquiredAt, b.Lease.AcquiredAt},
	}
}
