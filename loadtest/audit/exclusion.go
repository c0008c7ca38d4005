package audit

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"stockapi/loadtest/history"
)

// exclusion answers whether ever two orders held the lock at once. The time from acquired_at to released_at is a
// time in which an order definitely believed to hold it, so two that overlap are a violation, whatever each of
// them then did: an order that was refused for lack of stock counts as much as one that sold.
func exclusion(c *history.Cell, k *clocks) history.Finding {
	groups := leasesByClock(c, k)
	if len(groups) == 0 {
		return history.Finding{Verdict: history.Exclusion, Result: history.NotApplicable}
	}
	if id, yes := k.stepped(); yes {
		return found(history.Exclusion, history.Unclear, "the clock %q was set during the cell: its times cannot be compared", id)
	}
	var ev []history.Evidence
	for i, g := range groups {
		ev = append(ev, overlapsWithin(c, g)...)
		for _, h := range groups[i+1:] {
			ev = append(ev, overlapsAcross(c, g, h, k.shift(h.clock, g.clock))...)
		}
	}
	if len(ev) > 0 {
		slices.SortStableFunc(ev, func(a, b history.Evidence) int { return cmp.Compare(a.At[0], b.At[0]) })
		return broken(history.Exclusion, ev, len(ev))
	}
	if n := unanswered(c); n > 0 {
		return found(history.Exclusion, history.Unclear, "%d orders were never answered: they may have held the lock at any time", n)
	}
	return history.Finding{Verdict: history.Exclusion, Result: history.OK}
}

// group is the leases of one clock by acquired_at, and for each the one among it and its predecessors that ends
// last. That makes "does any earlier lease reach into this one?" a single look.
type group struct {
	clock string
	ops   []*history.Op
	last  []*history.Op
	// lastWriter is the same among those that do not only read: readers share the lock with each other.
	lastWriter []*history.Op
}

func leasesByClock(c *history.Cell, k *clocks) []*group {
	byClock := map[string]*group{}
	var groups []*group
	for i := range c.Ops {
		op := &c.Ops[i]
		if op.Lease == nil {
			continue
		}
		if op.Lease.Noticed && stopped(c, op) {
			op = heldAtFirst(op)
		}
		id := k.clock(op.Instance)
		if byClock[id] == nil {
			byClock[id] = &group{clock: id}
			groups = append(groups, byClock[id])
		}
		byClock[id].ops = append(byClock[id].ops, op)
	}
	for _, g := range groups {
		g.sort()
	}
	return groups
}

// stopped reports whether an order's process was stopped while it was under way.
func stopped(c *history.Cell, op *history.Op) bool {
	return slices.ContainsFunc(c.Faults, func(f history.Fault) bool { return f.Stopped && f.Order == op.Order })
}

// heldAtFirst is an order that was stopped, and that found its lease lost when it went on, before it did anything else.
// What stands still believes nothing: all that is known of such a lease is when it was taken.
func heldAtFirst(op *history.Op) *history.Op {
	known, lease := *op, *op.Lease
	lease.ReleasedAt = history.Never
	known.Lease = &lease
	return &known
}

func (g *group) sort() {
	slices.SortStableFunc(g.ops, func(a, b *history.Op) int { return cmp.Compare(a.Lease.AcquiredAt, b.Lease.AcquiredAt) })
	var last, lastWriter *history.Op
	for _, op := range g.ops {
		last = later(last, op)
		if op.Phase != history.Reading {
			lastWriter = later(lastWriter, op)
		}
		g.last, g.lastWriter = append(g.last, last), append(g.lastWriter, lastWriter)
	}
}

// later returns the op whose lease ends later.
func later(a, b *history.Op) *history.Op {
	if a != nil && until(a.Lease) > until(b.Lease) {
		return a
	}
	return b
}

// against returns, of the first n leases, the one that ends last of those that op's must not overlap, or nil.
func (g *group) against(op *history.Op, n int) *history.Op {
	switch {
	case n == 0:
		return nil
	case op.Phase == history.Reading:
		return g.lastWriter[n-1]
	}
	return g.last[n-1]
}

// overlapsWithin reports each lease that an earlier one of the same clock reaches into.
func overlapsWithin(c *history.Cell, g *group) []history.Evidence {
	var ev []history.Evidence
	for i := 1; i < len(g.ops); i++ {
		before := g.against(g.ops[i], i)
		if before != nil && before.Order != g.ops[i].Order && until(before.Lease) > g.ops[i].Lease.AcquiredAt {
			ev = append(ev, overlap(c, before, g.ops[i], bound{}))
		}
	}
	return ev
}

// overlapsAcross reports each lease of h that overlaps one of g whatever the true shift between their clocks is:
// the latest it can have begun lies before the other's end, and the earliest it can have ended after its start.
func overlapsAcross(c *history.Cell, g, h *group, shift bound) []history.Evidence {
	var ev []history.Evidence
	for _, op := range h.ops {
		begin, end := op.Lease.AcquiredAt+shift.hi, until(op.Lease)+shift.lo
		n := sort.Search(len(g.ops), func(i int) bool { return g.ops[i].Lease.AcquiredAt >= end })
		if before := g.against(op, n); before != nil && until(before.Lease) > begin {
			ev = append(ev, overlap(c, before, op, shift))
		}
	}
	return ev
}

// overlap puts a violation into words; b's times are shifted to a's clock, to the least overlap possible.
func overlap(c *history.Cell, a, b *history.Op, shift bound) history.Evidence {
	begin := max(a.Lease.AcquiredAt, b.Lease.AcquiredAt+shift.hi)
	end := min(until(a.Lease), until(b.Lease)+shift.lo)
	var text strings.Builder
	fmt.Fprintf(&text, "%s on %s and %s on %s both held the lock for %.3f ms at %s",
		order(c, a), instance(c, a), order(c, b), instance(c, b), float64(max(end-begin, 0))/float64(time.Millisecond), begin)
	if shift != (bound{}) {
		fmt.Fprintf(&text, ", clocks known to %.3f ms", float64(shift.hi-shift.lo)/float64(time.Millisecond))
	}
	return history.Evidence{
		Text: text.String(), Orders: []string{a.Order, b.Order}, Instances: []string{a.Instance, b.Instance},
		At: []history.Instant{begin, end},
	}
}
