package drawing

import (
	"cmp"
	"fmt"
	"slices"

	"stockapi/loadtest/history"
)

// maxQueue bounds the orders of a queue that are shown first.
const maxQueue = 24

// turn is the place of an order in the queue by arrival, and by acquire.
type turn struct{ came, got int }

// takeQueue takes the waiters in order of arrival, and the holder they waited for: around the first violation if there
// is one, else from the beginning.
func (w *window) takeQueue(c *history.Cell) {
	var line []*history.Op
	for i := range c.Ops {
		op := &c.Ops[i]
		if op.Phase == history.Buy && op.Lease != nil && op.Lease.AcquiredAt.Known() {
			line = append(line, op)
		}
	}
	slices.SortStableFunc(line, func(a, b *history.Op) int { return cmp.Compare(a.Sent, b.Sent) })
	for len(line) > 1 && line[0].Done < line[1].Sent { // it did not queue
		line = line[1:]
	}
	all, from := len(line), 0
	if at := slices.IndexFunc(line, func(op *history.Op) bool { return w.focus[op.Order] }); at >= maxQueue/2 {
		from = max(0, min(at-maxQueue/2, all-maxQueue))
	}
	w.ops = line[from:min(from+maxQueue, all)]
	granted := slices.Clone(line)
	slices.SortStableFunc(granted, func(a, b *history.Op) int {
		return cmp.Compare(a.Lease.AcquiredAt, b.Lease.AcquiredAt)
	})
	w.turns = map[string]turn{}
	for i, op := range line {
		w.turns[op.Order] = turn{came: i + 1, got: slices.Index(granted, op) + 1}
	}
	for _, op := range w.ops {
		w.join(span{float64(op.Sent), float64(op.Sent)})
		w.join(active(op))
	}
	w.queue, w.wakes = true, c.Waiting > 0
	w.pad()
	w.caption = fmt.Sprintf("%d of the %d orders that waited, in order of arrival, with the turn in which each acquired "+
		"the lock. The thick line is the wait.", len(w.ops), all)
	if w.wakes {
		w.caption += " Each stroke on it is a wake-up."
	}
}

// words describes the turn in which an order acquired the lock: with its wake-ups where those matter, else with its own
// turn if that differs.
func (t turn) words(op *history.Op, wakes bool) string {
	text := fmt.Sprintf("turn %d", t.got)
	switch n := wakesOf(op); {
	case wakes && n > 1:
		return fmt.Sprintf("%s, woken %d times", text, n)
	case wakes && n == 1:
		return text + ", woken once"
	case !wakes && t.came != t.got:
		return fmt.Sprintf("%s instead of %d", text, t.came)
	}
	return text
}

// overtaken reports whether the turn was not the order's own or, where wake-ups matter, whether the order was woken in
// vain.
func (t turn) overtaken(op *history.Op, wakes bool) bool {
	return wakes && wakesOf(op) > 1 || !wakes && t.came != t.got
}

func wakesOf(op *history.Op) (n int) {
	for i := range op.Trace {
		if op.Trace[i].Woken() {
			n++
		}
	}
	return n
}
