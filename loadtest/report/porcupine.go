package report

import (
	"cmp"
	"fmt"
	"html"
	"math"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"

	"stockapi/loadtest/history"
)

const (
	// reach is the number of neighbours that a window has on either side of a violation.
	reach = 4
	// timeLimit bounds the search. A window takes some milliseconds.
	timeLimit = 2 * time.Second
)

// A window is the first violation of a cell, with the orders around it. Porcupine, a checker of linearizability, draws
// it on a page of its own, and decides no verdict: package audit has found the violation by then, exactly and among all
// orders. Porcupine gets the few orders around it, because it tries them in every sequence, and because nobody can read
// a picture of hundreds. What is left out makes no sequence illegal: a window of the stock is sales of neighbouring
// units without a gap, and a window of the lock is whole leases.
type window struct {
	*history.Cell
	guilty map[string]bool // the orders of the violation
}

// checkFirstViolation has Porcupine search for a legal sequence of what lies around the first violation of verdict
// stock or, if the stock is ok, of verdict exclusion. It returns false if neither is broken, or if there is such a
// sequence.
func checkFirstViolation(c *history.Cell) (info porcupine.LinearizationInfo, illegal bool) {
	for _, v := range []history.Verdict{history.Stock, history.Exclusion} {
		if f := c.Finding(v); f.Result == history.Broken && len(f.Evidence) > 0 {
			result, info := porcupine.CheckOperationsVerbose(model, stepsAround(c, v, f.Evidence[0]), timeLimit)
			return info, result == porcupine.Illegal
		}
	}
	return info, false
}

// stepsAround returns the steps of the orders of a violation, and of their neighbours. There are none if its evidence
// names no orders, or if it is one of leases whose times cannot be compared.
func stepsAround(c *history.Cell, v history.Verdict, violation history.Evidence) []porcupine.Operation {
	w := window{c, map[string]bool{}}
	for _, id := range violation.Orders {
		w.guilty[id] = true
	}
	switch {
	case len(w.guilty) == 0, v == history.Exclusion && !c.OneClock():
		return nil
	case v == history.Exclusion:
		return w.leases()
	}
	return w.sales(violation.Unit)
}

// A step takes effect at one moment between its call and its return, and leads from one state to another: from so many
// units to fewer, or from a holder of the lock to another. It is illegal in any other state.
type step struct {
	from, to string
	text     string
}

// The states before the first step: a stock that nobody has read, and a lock that nobody holds.
const (
	unread = "the stock"
	free   = "free"
)

// model is the rule that all steps follow. Porcupine's page does not escape states.
var model = porcupine.Model{
	Init: func() any { return "" },
	Step: func(state, in, _ any) (bool, any) {
		s := in.(step)
		return state == s.from || state == "" && (s.from == free || s.from == unread), s.to
	},
	DescribeOperation: func(in, _ any) string { return in.(step).text },
	DescribeState:     func(state any) string { return html.EscapeString(state.(string)) },
}

// around returns the sales of a unit that was sold twice, and of its neighbours without a gap, with the highest unit.
func (w window) around(unit int64) (window []history.Op, top int64) {
	near := map[int64]history.Op{} // by the highest unit, the sale that was answered first: others followed from it
	for i := range w.Ops {
		op := &w.Ops[i]
		low, high := unitRange(op)
		if w.guilty[op.Order] {
			window = append(window, *op)
		} else if op.Outcome == history.Sold && len(op.Units) > 0 && low > unit-2*reach && high < unit+2*reach {
			if other, known := near[high]; !known || op.Done < other.Done {
				near[high] = *op
			}
		}
	}
	add := func(u int64) bool {
		op, known := near[u]
		if known {
			window = append(window, op)
		}
		return known
	}
	top = unit
	for u := unit + 1; u < unit+reach && add(u); u++ {
		top = u
	}
	for u := unit - 1; u > unit-reach && add(u); {
		u--
	}
	return window, top
}

// sales returns the sales of a unit that was sold twice, and of its neighbours.
func (w window) sales(unit int64) []porcupine.Operation {
	window, top := w.around(unit)
	slices.SortStableFunc(window, func(a, b history.Op) int { return cmp.Compare(a.Sent, b.Sent) })
	top = min(top, w.Initial)
	left := func(n int64) string { return fmt.Sprintf("%d left", n) }
	shared := w.OneClock() && !slices.ContainsFunc(window, func(op history.Op) bool { return op.Lease == nil })
	var steps []porcupine.Operation
	first := int64(math.MaxInt64)
	for i := range window {
		op := &window[i]
		low, high := unitRange(op)
		from, to := int64(op.Sent), end(op.Done)
		if shared { // it took effect while the order had the lock
			from, to = int64(op.Lease.AcquiredAt), end(op.Lease.ReleasedAt)
		}
		first = min(first, from)
		sold := step{left(high), left(low - 1), w.who(op) + " sells " + units(op)}
		steps = append(steps, operation(i+1, from, to, sold))
	}
	if len(steps) > 0 {
		steps = append(steps, porcupine.Operation{ClientId: 0, Call: first - 2, Return: first - 1,
			Input: step{unread, left(top), "there are " + left(top)}})
	}
	return steps
}

// leases returns the acquires and releases of the orders that held the lock at once, and of their neighbours.
func (w window) leases() []porcupine.Operation {
	var all []history.Op
	for i := range w.Ops {
		op := &w.Ops[i]
		if op.Lease != nil {
			all = append(all, *op)
		}
	}
	slices.SortStableFunc(all, func(a, b history.Op) int { return cmp.Compare(a.Lease.AcquiredAt, b.Lease.AcquiredAt) })
	from, to := len(all), 0
	for i := range all {
		if w.guilty[all[i].Order] {
			from, to = min(from, max(0, i-reach)), min(len(all), i+reach+1)
		}
	}
	var steps []porcupine.Operation
	for i := from; i < to; i++ {
		if op := &all[i]; w.guilty[op.Order] || i < from+reach || i >= to-reach {
			who, acquired, released := w.who(op), int64(op.Lease.AcquiredAt), int64(op.Lease.Until())
			steps = append(steps,
				operation(i-from, acquired-1, acquired, step{free, "held by " + who, who + " acquires the lock"}),
				operation(i-from, released, released+1, step{"held by " + who, free, who + " releases the lock"}))
		}
	}
	return steps
}

// operation makes a step one of Porcupine's. A forged history may hold instants whose sums overflow, or run backwards.
func operation(lane int, from, to int64, s step) porcupine.Operation {
	const far = 1 << 60
	from = min(max(from, -far), far)
	return porcupine.Operation{ClientId: lane, Input: s, Call: from, Return: min(max(to, from), far)}
}

// end returns a moment that may never have come.
func end(i history.Instant) int64 {
	if !i.Known() {
		return math.MaxInt64
	}
	return int64(i)
}

func unitRange(op *history.Op) (low, high int64) {
	if len(op.Units) == 0 {
		return 0, 0
	}
	return slices.Min(op.Units), slices.Max(op.Units)
}

func units(op *history.Op) string {
	low, high := unitRange(op)
	if low == high {
		return fmt.Sprintf("unit %d", low)
	}
	return fmt.Sprintf("units %d to %d", low, high)
}

func (w window) who(op *history.Op) string {
	return w.OrderName(op.Order) + " on " + op.Instance
}
