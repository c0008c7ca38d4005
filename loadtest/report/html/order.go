package html

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"stockapi/loadtest/history"
)

// bar is an order on its instance's lane: its lease, or without one the time from its read to its write.
type bar struct {
	op     *history.Op
	x0, x1 float64
	end    history.End // of its lock, if it lost that
	label  string
	labelX float64
	// tall means that there is more to say of the order than fits beside its bar: its row has a line for words above it.
	tall bool
	// below is the room for what is said below the bar: why the stock refused a write.
	below  float64
	row    int
	middle float64 // of the bar, from the top
	// from and to are the ends of the room that it takes with its label.
	from, to float64
}

func (d *drawing) newBar(op *history.Op) *bar {
	a := tenure(op)
	b := &bar{op: op, x0: d.x(a.lo), x1: d.x(a.hi), end: d.lossOf(op), label: sentence(d.cell, op)}
	if neverEnded(op) {
		b.x1 = d.right()
	}
	b.x1 = max(b.x1, b.x0+2.5)
	b.from, b.to = b.x0, b.x1
	if d.window.whole {
		b.from = min(b.from, d.x(underWay(op).lo))
	}
	if refusedWriteOf(op) != nil {
		b.below = lineBelow
	}
	wordy := d.window.focus[op.Order] || d.eventful(b)
	need := textWidth(b.label) + 18
	if !wordy && d.beside(b) {
		return b
	}
	b.tall, b.labelX = true, max(min(b.x0, d.right()-need), gutter)
	if wordy {
		b.from, b.to = min(b.from, b.labelX), max(b.to+6, b.labelX+need)
		if d.outlived(b) {
			b.from = min(b.from, d.x(b.ended()))
		}
	}
	return b
}

// beside puts the label of a bar to its right or to its left. It reports whether there is room.
func (d *drawing) beside(b *bar) bool {
	need := textWidth(b.label)*1.06 + 20
	switch {
	case b.x1+need <= d.right():
		b.labelX, b.to = b.x1+12, b.x1+need
	case b.from-need >= gutter && b.x0-b.from < need: // no long wait is between them
		b.labelX = b.from - 8
		b.from -= need
	default:
		return false
	}
	return true
}

// refusedWriteOf returns the first command of an order by which it wrote and which the stock refused.
func refusedWriteOf(op *history.Op) *history.Command {
	for i := range op.Trace {
		if writeOf(&op.Trace[i]) == refusedWrite {
			return &op.Trace[i]
		}
	}
	return nil
}

// eventful reports whether words are due to what happened to the order: a fault, the end of its lock before it gave it
// back, a write that the stock refused.
func (d *drawing) eventful(b *bar) bool {
	unsure := func(cmd history.Command) bool { return writeOf(&cmd) == unsureWrite }
	return refusedWriteOf(b.op) != nil || len(d.faultsOf(b.op)) > 0 || d.outlived(b) ||
		slices.ContainsFunc(b.op.Trace, unsure)
}

// outlived reports whether the order went on after its lock had ended.
func (d *drawing) outlived(b *bar) bool {
	hi := active(b.op).hi
	if neverEnded(b.op) {
		hi = math.Inf(1)
	}
	return b.ended() < hi && b.ended() < d.hi
}

// ended returns when the order had lost its lock: never, if it did not.
func (b *bar) ended() float64 {
	if !b.end.At.Known() {
		return math.Inf(1)
	}
	return float64(b.end.At)
}

// lossOf returns how an order lost the lock that its lease is about.
func (d *drawing) lossOf(op *history.Op) history.End {
	order, known := d.numbers[op.Order]
	if !known || op.Lease == nil || !op.Lease.AcquiredAt.Known() {
		return history.End{At: history.Never}
	}
	return d.locks.LossOf(order, op.Lease.AcquiredAt, d.locks.terms)
}

// neverEnded reports whether the order's end is unknown: it got no answer, and its lease names no release.
func neverEnded(op *history.Op) bool {
	return !op.Done.Known() && (op.Lease == nil || !op.Lease.ReleasedAt.Known())
}

// servedBy says under whose lease the order was served, if it says that it was another's.
func servedBy(c *history.Cell, op *history.Op) string {
	if op.SoldBy == "" || op.Lease != nil {
		return ""
	}
	return ", by " + clip(c.OrderName(op.SoldBy), 30)
}

// sentence says what became of an order, such as "order 12 sells unit 84".
func sentence(c *history.Cell, op *history.Op) string {
	first := evidenceOf(firstBroken(c))
	does := map[history.Outcome]string{
		history.Busy: "finds the lock busy", history.Refused: "is refused", history.NotSold: "does not sell",
		history.NotSent: "was not sent", history.Unknown: "has an unknown outcome",
	}[op.Outcome]
	switch n := len(op.Units); {
	case op.Outcome != history.Sold:
	case op.Phase == history.Reading:
		does = "reads the stock"
	case n == 0:
		does = "sells"
	case n > 1:
		does = fmt.Sprintf("sells units %d to %d", op.Units[0], op.Units[n-1])
	default:
		does = fmt.Sprintf("sells unit %d", op.Units[0])
		if len(first.Orders) > 1 && first.Orders[0] != op.Order && op.Units[0] == first.Unit && op.Done.Known() {
			does += " again"
		}
	}
	return named(c, op) + " " + cmp.Or(does, clip(string(op.Outcome), 12)) + servedBy(c, op)
}

// room is the height of a row above and below the middle of its bars.
type room struct{ above, below float64 }

// pack gives each bar the first row with room for it, and returns the rows.
func pack(bars []*bar) (rows []room) {
	slices.SortStableFunc(bars, func(a, b *bar) int { return cmp.Compare(a.from, b.from) })
	var ends []float64
	for _, b := range bars {
		b.row = slices.IndexFunc(ends, func(end float64) bool { return end+4 <= b.from })
		if b.row < 0 {
			b.row = len(ends)
			ends, rows = append(ends, 0), append(rows, room{rowHeight / 2, rowHeight / 2})
		}
		ends[b.row] = b.to
		r := &rows[b.row]
		r.below = max(r.below, rowHeight/2+b.below)
		if b.tall {
			r.above = tallRow - rowHeight/2
		}
	}
	return rows
}

// order draws one order without its words; middle is that of its bar.
func (d *drawing) order(b *bar, middle float64) {
	d.group(d.orderClass(b.op), d.tooltip(b.op))
	if d.window.whole || !worked(b.op) {
		u := underWay(b.op)
		d.el("line", "", "class", "wait", "x1", d.x(u.lo), "x2", max(d.x(u.hi), b.x1), "y1", middle, "y2", middle)
	}
	if worked(b.op) {
		d.tenure(b, middle)
	}
	if l := b.op.Lease; l != nil && l.ReleasedAt.Known() && d.shows(float64(l.ReleasedAt)) {
		d.stroke("end", "", d.x(float64(l.ReleasedAt)), middle-barHeight/2-2, barHeight+4)
	}
	d.faults(b.op, middle)
	d.commands(b, middle)
	d.end()
}

// tenure draws the bar of an order: solid while it has its lock, dashed while the lock may have ended, then a tick, and
// pale from there on.
func (d *drawing) tenure(b *bar, middle float64) {
	held, gone := d.lostAt(b)
	y := middle - barHeight/2
	if !d.outlived(b) || held > b.x0 {
		d.rect("bar", "", b.x0, max(held, b.x0+2), y, barHeight, "rx", 2.0)
	}
	if held < gone {
		d.rect("maybe", "", held, gone, y, barHeight)
	}
	if gone < b.x1 {
		d.rect("believes", "", gone, b.x1, y, barHeight, "rx", 2.0)
	}
	if d.outlived(b) && d.shows(b.ended()) {
		// before the bar, if the order was told too late that it had the lock
		d.stroke("over", d.why(b.end)+" at "+d.moment(b.ended()), d.x(b.ended()), y-15, barHeight+18)
	}
}

// lostAt returns until where the order is known to have had its lock, and where the lock was gone. Both are the end of
// the bar if the order kept it.
func (d *drawing) lostAt(b *bar) (held, gone float64) {
	if !d.outlived(b) {
		return b.x1, b.x1
	}
	held, gone = d.x(float64(b.end.Since)), d.x(b.ended())
	if gone-held <= 1 {
		held = gone
	}
	return min(max(held, b.x0), b.x1), min(max(gone, b.x0), b.x1)
}

// words writes what there is to say of an order, where no mark is in the way.
func (d *drawing) words(b *bar, middle float64) {
	d.group(d.orderClass(b.op), "")
	defer d.end()
	line := middle - barHeight/2 - 6
	if !b.tall {
		anchor := ""
		if b.labelX < b.x0 {
			anchor = "end"
		}
		d.put("label", spot{b.labelX, middle + 4, b.label, anchor})
		d.reads(b, middle)
		return
	}
	if d.outlived(b) && d.shows(b.ended()) {
		x := d.x(b.ended())
		d.put("overlabel", spot{x + 4, line, d.why(b.end), ""}, spot{x - 4, line, d.why(b.end), "end"})
	}
	const apart = 12.0 // from the rings around sales
	spots := []spot{{b.labelX, line, b.label, ""}, {b.x0 - 6, line, b.label, "end"}}
	if d.outlived(b) {
		spots = append(spots, spot{d.x(b.ended()) - 6, line, b.label, "end"})
	}
	spots = append(spots, d.within(b.x0, b.x1, line, b.label)...)
	spots = append(spots, spot{b.x0 - apart, middle + 4, b.label, "end"}, spot{b.x1 + apart, middle + 4, b.label, ""})
	d.put("label", append(spots, d.within(b.x0, d.right(), line, b.label)...)...)
	if d.window.whole { // the line of the wait is drawn
		d.put("label", d.within(d.x(underWay(b.op).lo), b.x0, middle+4, "waits")...)
	}
	d.reads(b, middle)
	d.refusal(b, middle)
	d.faultWords(b, line)
	d.inside(b, middle)
}

// refusal says below the mark of a refused write why it was refused. Of several it takes the first with room for it.
func (d *drawing) refusal(b *bar, middle float64) {
	line := middle + barHeight/2 + 16
	for i := range b.op.Trace {
		cmd := &b.op.Trace[i]
		if writeOf(cmd) != refusedWrite || !d.shows(float64(cmd.End)) {
			continue
		}
		x := d.x(float64(cmd.End))
		text := d.whyRefused(b.op, cmd)
		if d.put("refusal", spot{x - 7, line, text, ""}, spot{x + 7, line, text, "end"}, spot{x, line, text, "middle"}) {
			return
		}
	}
}

// reads says beside each ring what was read: in the bar, or above it if its row has a line for words.
func (d *drawing) reads(b *bar, middle float64) {
	for i := range b.op.Trace {
		cmd := &b.op.Trace[i]
		text := whatItRead(cmd)
		if text == "" || !d.shows(float64(cmd.End)) {
			continue
		}
		x, spots := d.x(float64(cmd.End)), []spot(nil)
		if room := textWidth(text)*1.06 + 12; x+room <= b.x1 {
			spots = append(spots, spot{x + 6, middle + 4, text, ""})
		} else if x-room >= b.x0 {
			spots = append(spots, spot{x - 6, middle + 4, text, "end"})
		}
		if line := middle - barHeight/2 - 6; b.tall {
			spots = append(spots, spot{x, line, text, "middle"}, spot{x, line, text, ""}, spot{x, line, text, "end"})
		}
		d.put("inside", spots...)
	}
}

// whatItRead says what a command read of the stock, nothing if it read none or its reply is no number.
func whatItRead(cmd *history.Command) string {
	if _, err := strconv.ParseInt(cmd.Reply, 10, 64); err != nil || !cmd.ReadsStock() || !cmd.End.Known() {
		return ""
	}
	return "reads " + cmd.Reply
}

// inside says in a bar that its order holds the lock, and then that it only believes so.
func (d *drawing) inside(b *bar, middle float64) {
	order, known := d.numbers[b.op.Order]
	had := func(l *history.Lock) bool { return l.TenureOf(order, b.op.Lease.AcquiredAt) != nil }
	if !known || b.op.Lease == nil || !b.op.Lease.AcquiredAt.Known() || !slices.ContainsFunc(d.locks.Locks, had) {
		return
	}
	held, x := d.lostAt(b)
	d.put("inside", d.within(b.x0, held, middle+4, "holds the lock")...)
	if held < x {
		d.put("inside", d.within(held, x, middle+4, "its lock ends at some time here")...)
	}
	released := b.x1
	if b.op.Lease.ReleasedAt.Known() {
		released = min(released, d.x(float64(b.op.Lease.ReleasedAt)))
	}
	d.put("inside warn", append(d.within(x, released, middle+4, "believes it holds the lock", "believes it holds"),
		d.within(max(x, released), b.x1, middle+4, "its release comes late")...)...)
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
func (d *drawing) commands(b *bar, middle float64) {
	op := b.op
	for i := range op.Trace {
		cmd := &op.Trace[i]
		if !cmd.End.Known() || !d.shows(float64(cmd.End)) || cmd.UnknownScript() || cmd.Ended() {
			continue
		}
		x := d.x(float64(cmd.End))
		switch w := writeOf(cmd); {
		case w == wrote:
			d.diamond("write", "", x, middle)
		case w == refusedWrite:
			d.refusedMark(d.whyRefused(op, cmd), x, middle)
		case w == unsureWrite:
			d.diamond("unsure", "no reply to this write: "+clip(cmd.Err, 60), x, middle)
		case onStock(cmd):
			d.el("circle", whatItRead(cmd), "class", "read", "cx", x, "cy", middle, "r", 3.2)
			d.reserve(x, middle, 3.2)
		case cmd.Prolongs():
			d.renewal(cmd, middle-barHeight/2)
		}
	}
	d.sale(op, middle)
}

// refusedMark draws a hollow diamond that is crossed out.
func (d *drawing) refusedMark(title string, x, y float64) {
	d.reserve(x, y, 7)
	d.el("path", title, "class", "refused", "d", fmt.Sprintf("M%s %sl7 7l-7 7l-7 -7zm-5 2l10 10m0 -10l-10 10",
		number(x), number(y-7)))
}

// tooltip has what the label leaves out: the names and the times.
func (d *drawing) tooltip(op *history.Op) string {
	text := fmt.Sprintf("order %s on %s: %s\nsent %s, answered %s", clip(op.Order, 80), clip(op.Instance, 40),
		clip(string(op.Outcome), 20), d.when(op.Sent), d.when(op.Done))
	if l := op.Lease; l != nil {
		text += fmt.Sprintf("\nlease %s to %s", d.when(l.AcquiredAt), d.when(l.ReleasedAt))
	}
	return text
}

func (s scale) when(i history.Instant) string {
	if !i.Known() {
		return "never"
	}
	return s.moment(float64(i))
}
