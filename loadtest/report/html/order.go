package html

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"stockapi/loadtest/history"
)

// bar is an order on its instance's lane: its lease, or without one the time from its read to its write.
type bar struct {
	op     *history.Op
	x0, x1 float64
	label  string
	labelX float64
	row    int
	// from and to are the ends of the room that it takes with its label.
	from, to float64
}

func (d *drawing) newBar(op *history.Op) *bar {
	a := active(op)
	b := &bar{op: op, x0: d.x(a.lo), x1: d.x(a.hi), label: label(d.cell, op)}
	if neverEnded(op) {
		b.x1 = d.right()
	}
	b.x1 = max(b.x1, b.x0+2.5)
	b.from, b.to = b.x0, b.x1
	if d.window.whole {
		b.from = min(b.from, d.x(underWay(op).lo))
	}
	need := textWidth(b.label) + 14
	switch {
	case b.x1+need <= d.right():
		b.labelX, b.to = b.x1+7, b.x1+need
	case b.from-need >= gutter:
		b.from -= need
		b.labelX = b.from + 4
	default:
		b.labelX = max(b.x0+12, gutter+12)
	}
	return b
}

// neverEnded reports whether the order's end is unknown: it got no answer, and its lease names no release.
func neverEnded(op *history.Op) bool {
	return !op.Done.Known() && (op.Lease == nil || !op.Lease.ReleasedAt.Known())
}

// label is an order's id and its outcome, such as "12 → 84".
func label(c *history.Cell, op *history.Op) string {
	switch {
	case op.Outcome == history.Sold && len(op.Units) > 0:
		units := fmt.Sprint(op.Units[0])
		if n := len(op.Units); n > 1 {
			units += fmt.Sprintf("…%d", op.Units[n-1])
		}
		return short(c, op) + " → " + units
	default:
		return short(c, op) + " " + clip(string(op.Outcome), 12)
	}
}

// pack gives each bar the first row with room for it, and returns how many rows that takes.
func pack(bars []*bar) int {
	slices.SortStableFunc(bars, func(a, b *bar) int { return cmp.Compare(a.from, b.from) })
	var ends []float64
	for _, b := range bars {
		b.row = slices.IndexFunc(ends, func(end float64) bool { return end+4 <= b.from })
		if b.row < 0 {
			b.row = len(ends)
			ends = append(ends, 0)
		}
		ends[b.row] = b.to
	}
	return len(ends)
}

// order draws one order; y is the top of its row.
func (d *drawing) order(b *bar, y float64) {
	d.group(d.orderClass(b.op), d.tooltip(b.op))
	middle := y + rowHeight/2
	if d.window.whole || !worked(b.op) {
		u := underWay(b.op)
		d.el("line", "", "class", "wait", "x1", d.x(u.lo), "x2", max(d.x(u.hi), b.x1), "y1", middle, "y2", middle)
	}
	if worked(b.op) {
		d.el("rect", "", "class", "bar",
			"x", b.x0, "y", middle-barHeight/2, "width", b.x1-b.x0, "height", barHeight, "rx", 2.0)
	}
	d.faults(b.op, middle)
	d.commands(b.op, middle)
	if l := b.op.Lease; l != nil && l.ReleasedAt.Known() && d.shows(float64(l.ReleasedAt)) {
		stroke := fmt.Sprintf("M%s %sv%g", number(b.x1), number(middle-barHeight/2-2), barHeight+4)
		d.el("path", "", "class", "end", "d", stroke)
	}
	d.text("label", b.label, b.labelX, middle+4)
	d.marks.taken = append(d.marks.taken, stretch{b.from, b.to, middle})
	d.end()
}

func (d *drawing) orderClass(op *history.Op) string {
	class := "order " + d.colours[op.Instance]
	if op.Lease == nil {
		class += " nolease"
	}
	if !worked(op) {
		class += " idle"
	}
	if op.Outcome != history.Sold {
		class += " nosale"
	}
	if d.window.focus[op.Order] {
		class += " focus"
	}
	return class
}

// commands draws what the order did: renewals, and reads and writes of the stock.
func (d *drawing) commands(op *history.Op, middle float64) {
	last := lastWrite(op)
	for i := range op.Trace {
		cmd := &op.Trace[i]
		switch {
		case cmd == last || !cmd.End.Known() || !d.shows(float64(cmd.End)):
		case cmd.ReadsStock():
			d.el("circle", "", "class", "read", "cx", d.x(float64(cmd.End)), "cy", middle, "r", 3.2)
		case cmd.WritesStock():
			d.diamond("write", d.x(float64(cmd.End)), middle, 4)
		case cmd.Prolongs():
			d.renewal(cmd, middle-barHeight/2)
		}
	}
	d.sale(op, last, middle)
}

// lastWrite returns the command by which an order that sold wrote the stock, nil if its trace has none.
func lastWrite(op *history.Op) *history.Command {
	if op.Outcome != history.Sold {
		return nil
	}
	for i := len(op.Trace) - 1; i >= 0; i-- {
		if cmd := &op.Trace[i]; cmd.WritesStock() && cmd.End.Known() {
			return cmd
		}
	}
	return nil
}

// tooltip returns the order in full, in words.
func (d *drawing) tooltip(op *history.Op) string {
	first := fmt.Sprintf("order %s on %s: %s", clip(op.Order, 80), clip(op.Instance, 40), clip(string(op.Outcome), 20))
	lines := []string{first}
	if len(op.Units) > 0 {
		lines[0] += fmt.Sprintf(", units %s", clip(fmt.Sprint(op.Units), 60))
	}
	lines = append(lines, fmt.Sprintf("sent %s, answered %s", when(op.Sent), when(op.Done)))
	if l := op.Lease; l != nil {
		lines = append(lines, fmt.Sprintf("lease %s to %s", when(l.AcquiredAt), when(l.ReleasedAt)))
	}
	for i := range op.Trace {
		cmd := &op.Trace[i]
		if len(lines) == 12 {
			lines = append(lines, fmt.Sprintf("and %d more", len(op.Trace)-i))
			break
		}
		if onStock(cmd) || cmd.Fault() {
			lines = append(lines, inWords(cmd))
		}
	}
	return strings.Join(lines, "\n")
}

func inWords(cmd *history.Command) string {
	if cmd.Fault() {
		return fmt.Sprintf("fault %s, %s to %s", clip(cmd.Key, 60), when(cmd.At), when(cmd.End))
	}
	text := fmt.Sprintf("%s of the stock, %s to %s", clip(cmd.Cmd, 24), when(cmd.At), when(cmd.End))
	if reply := cmd.Reply + cmd.Err; reply != "" {
		text += ": " + clip(reply, 40)
	}
	return text
}

func when(i history.Instant) string {
	if !i.Known() {
		return "never"
	}
	return moment(float64(i))
}
