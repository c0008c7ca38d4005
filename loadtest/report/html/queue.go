package html

import (
	"cmp"
	"fmt"
	"slices"

	"stockapi/loadtest/history"
)

const (
	maxQueue = 24 // orders of a queue that are drawn
	queueRow = 18.0
)

// turn says as which of all that waited in line an order came, and as which it got the lock.
type turn struct{ came, got int }

// takeQueue takes the orders that waited, as they arrived, and the one that they waited for: around the first violation
// if there is one, else from the beginning.
func (w *window) takeQueue(c *history.Cell) {
	var line []*history.Op
	for i := range c.Ops {
		op := &c.Ops[i]
		if op.Phase == history.Buy && op.Lease != nil && op.Lease.AcquiredAt.Known() {
			line = append(line, op)
		}
	}
	slices.SortStableFunc(line, func(a, b *history.Op) int { return cmp.Compare(a.Sent, b.Sent) })
	for len(line) > 1 && line[0].Done < line[1].Sent { // it was there alone
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
	for i, op := range line[:min(from+maxQueue, all)] {
		w.turns = append(w.turns, turn{came: i + 1, got: slices.Index(granted, op) + 1})
	}
	w.turns = w.turns[from:]
	for _, op := range w.ops {
		w.join(span{float64(op.Sent), float64(op.Sent)})
		w.join(active(op))
	}
	w.queue, w.whole, w.wakes = true, true, c.Waiting > 0
	w.pad()
	w.lo, w.hi = w.lo-w.length()*0.06, w.hi+w.length()*0.3 // the rows' words
	w.caption = fmt.Sprintf("%d of the %d orders that waited, a row for each, as they were sent. "+
		"The thick line is the wait, the turn that in which the order got the lock.", len(w.ops), all)
	if w.wakes {
		w.caption += " Each stroke on it is a time at which the order was woken."
	}
}

// queue draws the orders that waited in line: a row for each as they arrived, the wait, and in which turn it got the
// lock.
func (d *drawing) queue() {
	d.lane("arrival", float64(len(d.window.ops))*queueRow+8)
	for i, op := range d.window.ops {
		d.queued(op, d.window.turns[i], d.y+4+(float64(i)+.5)*queueRow)
	}
	d.y += float64(len(d.window.ops))*queueRow + 12
}

func (d *drawing) queued(op *history.Op, at turn, middle float64) {
	class := d.orderClass(op)
	if n := wakesOf(op); d.window.wakes && n > 1 || !d.window.wakes && at.came != at.got {
		class += " overtaken"
	}
	d.group(class, d.tooltip(op))
	defer d.end()
	sent, x0, x1 := d.x(float64(op.Sent)), d.x(float64(op.Lease.AcquiredAt)), d.x(active(op).hi)
	if x0 > sent {
		d.rect("queued", "", sent, x0, middle-2, 4)
	}
	if d.window.wakes {
		d.wakeUps(op, middle)
	}
	x1 = max(x1, x0+2.5)
	d.rect("bar", "", x0, x1, middle-barHeight/2, barHeight, "rx", 1.5)
	d.taken = append(d.taken, box{x0, middle - barHeight/2, x1, middle + barHeight/2})
	d.faults(op, middle)
	on := " on " + clip(op.Instance, 8)
	name, brief := named(d.cell, op)+on, short(d.cell, op)+on
	d.put("label", spot{sent - 6, middle + 4, name, "end"}, spot{sent - 6, middle + 4, brief, "end"},
		spot{gutter + 4, middle - 1, brief, ""})
	words := at.words(op, d.window.wakes)
	d.put("turn", spot{x1 + 6, middle + 4, words, ""}, spot{x0 - 6, middle + 4, words, "end"})
}

// words says in which turn an order got the lock. Where wake-ups matter it says how many it took, else whether others
// were faster.
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

// wakesOf counts how often an order was woken while it waited.
func wakesOf(op *history.Op) (n int) {
	for i := range op.Trace {
		if op.Trace[i].Woken() {
			n++
		}
	}
	return n
}

// wakeUps draws a stroke for each time at which the order was woken.
func (d *drawing) wakeUps(op *history.Op, middle float64) {
	for i := range op.Trace {
		if cmd := &op.Trace[i]; cmd.Woken() && d.shows(float64(cmd.At)) {
			d.el("path", "", "class", "woken", "d", fmt.Sprintf("M%s %sv8", number(d.x(float64(cmd.At))), number(middle-4)))
		}
	}
}
