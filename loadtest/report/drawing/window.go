package drawing

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"stockapi/loadtest/history"
)

// maxOrders bounds the orders of one timeline: more cannot be distinguished.
const maxOrders = 20

// maxBuyers bounds the buyers of one unit that are shown without a lock: a few are enough to show that all read the
// same.
const maxBuyers = 5

// window is the part of a cell that a timeline shows.
type window struct {
	span
	ops     []*history.Op
	focus   map[string]bool // the orders of the violation
	finding history.Finding // the violation, if there is one
	queue   bool            // the orders are drawn in order of arrival, each in a row
	wakes   bool            // the number of wake-ups of each matters
	turns   map[string]turn // of the orders of a queue
	caption string
}

// choose returns a small cell as a whole, and of a larger one the time around the first violation or, if there is none,
// the first sales.
func choose(c *history.Cell) window {
	w := window{span: noSpan(), finding: firstBroken(c)}
	w.focus = focusOf(evidenceOf(w.finding))
	switch around := focusSpan(c, w.focus); {
	case (c.InLine || c.Waiting > 0) && len(c.Ops) > 0:
		w.takeQueue(c)
		return w
	case len(c.Ops) <= maxOrders:
		w.takeAll(c)
	case !around.empty():
		w.span = around
		if !w.takeBuyers(c) {
			w.takeAround(c)
		}
	default:
		w.takeFirst(c)
	}
	w.pad()
	slices.SortStableFunc(w.ops, func(a, b *history.Op) int { return cmp.Compare(active(a).lo, active(b).lo) })
	return w
}

// firstBroken returns the first broken verdict whose evidence names orders, as others cannot be drawn. So it may differ
// from the verdict of the story, which is the first broken one.
func firstBroken(c *history.Cell) history.Finding {
	for _, f := range c.Findings {
		if f.Result == history.Broken && len(evidenceOf(f).Orders) > 0 {
			return f
		}
	}
	return history.FirstBroken(c.Findings)
}

func evidenceOf(f history.Finding) history.Evidence {
	if len(f.Evidence) == 0 {
		return history.Evidence{}
	}
	return f.Evidence[0]
}

func focusOf(e history.Evidence) map[string]bool {
	focus := map[string]bool{}
	for _, o := range e.Orders {
		focus[o] = true
	}
	return focus
}

func focusSpan(c *history.Cell, focus map[string]bool) span {
	s := noSpan()
	if len(focus) == 0 {
		return s
	}
	for i := range c.Ops {
		op := &c.Ops[i]
		if focus[op.Order] {
			s.join(active(op))
		}
	}
	return s
}

func (w *window) takeAll(c *history.Cell) {
	for i := range c.Ops {
		op := &c.Ops[i]
		w.ops = append(w.ops, op)
		w.join(active(op))
		w.join(underWay(op))
	}
	w.caption = fmt.Sprintf("All %d orders of the cell.", len(c.Ops))
}

// takeBuyers takes orders without a lease that bought the unit of the violation: first the orders of the violation,
// then those that began nearest to them. It returns false if there are fewer than two.
func (w *window) takeBuyers(c *history.Cell) bool {
	unit := evidenceOf(w.finding).Unit
	bought := func(op *history.Op) bool { return op.Lease == nil && slices.Contains(op.Units, unit) }
	all := w.take(c, bought, w.nearest)
	if all < 2 {
		w.ops = nil
		return false
	}
	w.ops = w.ops[:min(len(w.ops), maxBuyers)]
	for _, op := range w.ops {
		w.join(active(op))
	}
	w.caption = fmt.Sprintf("%d of the %d orders that bought unit %d, of %d orders in the cell.",
		len(w.ops), all, unit, len(c.Ops))
	return true
}

// takeAround takes the orders of the violation, then those that ended in the window, then those that began nearest to
// it.
func (w *window) takeAround(c *history.Cell) {
	near := w.take(c, func(op *history.Op) bool { return active(op).meets(w.span) }, w.nearest)
	w.caption = fmt.Sprintf(
		"Around the first violation: %d of the %d orders that were in flight then, of %d in the cell.",
		len(w.ops), near, len(c.Ops))
}

// nearest compares two orders by rank, then by distance.
func (w *window) nearest(a, b *history.Op) int {
	return cmp.Or(cmp.Compare(w.rank(a), w.rank(b)), cmp.Compare(w.distance(a), w.distance(b)))
}

// rank puts the orders of the violation first, then those with a fault, then those that ended in the window.
func (w *window) rank(op *history.Op) int {
	switch {
	case w.focus[op.Order]:
		return 0
	case slices.ContainsFunc(op.Trace, func(cmd history.Command) bool { return cmd.Fault() }):
		return 1
	case active(op).hi <= w.hi:
		return 2
	default:
		return 3
	}
}

// distance returns the time between the start of an order and that of the window.
func (w *window) distance(op *history.Op) float64 { return math.Abs(active(op).lo - w.lo) }

// takeFirst takes the first sales or, without any, the first orders.
func (w *window) takeFirst(c *history.Cell) {
	what, earlier := "sales", func(a, b *history.Op) int { return cmp.Compare(active(a).lo, active(b).lo) }
	all := w.take(c, func(op *history.Op) bool { return op.Outcome == history.Sold }, earlier)
	if all == 0 {
		what, all = "orders", w.take(c, func(*history.Op) bool { return true }, earlier)
	}
	for _, op := range w.ops {
		w.join(active(op))
	}
	w.caption = fmt.Sprintf("The first %d of the %d %s, of %d orders in the cell.", len(w.ops), all, what, len(c.Ops))
}

// take takes the first maxOrders of the wanted orders, sorted by compare, and returns the number of all wanted ones.
func (w *window) take(c *history.Cell, wanted func(*history.Op) bool, compare func(a, b *history.Op) int) (all int) {
	for i := range c.Ops {
		op := &c.Ops[i]
		if wanted(op) {
			w.ops = append(w.ops, op)
		}
	}
	slices.SortStableFunc(w.ops, compare)
	all = len(w.ops)
	w.ops = w.ops[:min(all, maxOrders)]
	return all
}

// pad adds a margin on both sides, and gives an empty window a length that can be drawn.
func (w *window) pad() {
	if w.empty() {
		w.span = span{0, 1e6}
	}
	air := max(w.length()*0.03, 1000, math.Abs(w.lo)*1e-9, math.Abs(w.hi)*1e-9)
	w.lo, w.hi = w.lo-air, w.hi+air
}

func (w *window) frame(numbers map[string]int) Frame {
	f := Frame{}
	f.From, f.To = w.times()
	for _, op := range w.ops {
		f.Orders = append(f.Orders, numbers[op.Order])
	}
	return f
}

func (w *window) has(order string) bool {
	return slices.ContainsFunc(w.ops, func(op *history.Op) bool { return op.Order == order })
}
