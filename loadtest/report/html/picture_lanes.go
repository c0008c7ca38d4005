package html

import (
	"fmt"
	"slices"

	"stockapi/loadtest/history"
)

// lanes draws a lane per instance, the faults of the network and of servers, and the lock keys.
func (p *picture) lanes() {
	for _, name := range p.names() {
		p.instance(name)
	}
	p.around()
	for i, k := range p.keys[:min(len(p.keys), maxLocks)] {
		name := "lock key"
		if len(p.keys) > 1 {
			name = fmt.Sprintf("lock, node %d", i+1)
		}
		p.lock(k, name)
	}
	p.overlaps()
	p.joins()
}

func (p *picture) instance(name string) {
	var bars []*bar
	for _, op := range p.window.ops {
		if op.Instance == name {
			bars = append(bars, &bar{op: op})
		}
	}
	if len(bars) == 0 {
		return
	}
	height := float64(len(bars)) * pictureRow
	p.lane("instance "+name, height)
	p.stopped(bars, height)
	for i, b := range bars {
		p.order(b.op, p.y+float64(i)*pictureRow)
	}
	p.y += height + 6
}

// order draws one order; y is the top of its row. The words stand above the first order's bar, and below the bars of
// all others: so they keep clear of the line that joins two sales of one unit.
func (p *picture) order(op *history.Op, y float64) {
	middle, base := y+pictureRow-15, y+17
	if p.rows > 0 {
		middle, base = y+15, y+pictureRow-9
	}
	p.rows++
	a, u := active(op), underWay(op)
	x0, x1 := p.x(a.lo), max(p.x(a.hi), p.x(a.lo)+2.5)
	if neverEnded(op) {
		x1 = p.right()
	}
	class := "order " + p.colours[op.Instance]
	if op.Lease == nil {
		class += " nolease"
	}
	p.group(class, p.tooltip(op))
	before := x0
	if !worked(op) {
		before = x1
	}
	p.wait(p.x(u.lo), before, middle)
	p.inside("key", "waits", p.x(u.lo), before, middle)
	p.wait(x1, p.x(u.hi), middle)
	if worked(op) {
		p.bar(op, x0, x1, middle)
	}
	for _, f := range p.faultsOf(op) {
		if kills(f) {
			x, _ := p.faultSpan(f)
			p.cross(x, middle)
		}
	}
	p.commands(op, middle)
	p.words(op, x0, x1, base)
	p.end()
	p.marks.taken = append(p.marks.taken, stretch{x0, x1, middle})
}

// wait draws the time in which an order was sent and not yet at work, or not yet answered.
func (p *picture) wait(x0, x1, middle float64) {
	if x0 < x1 {
		p.el("line", "", "class", "wait", "x1", x0, "x2", x1, "y1", middle, "y2", middle)
	}
}

// bar draws the time in which an order was at work. From the end of its lock on it is hatched: the order still works,
// and no longer holds the lock.
func (p *picture) bar(op *history.Op, x0, x1, middle float64) {
	lost, why := x1, ""
	if h := p.lostLock(op); h != nil {
		lost = min(max(p.x(p.keyEnd(p.keys[0], h)), x0), x1)
		why = map[ending]string{expired: "its lock has expired", stolen: "its lock was removed"}[h.how]
	}
	y := middle - pictureBar/2
	p.el("rect", "", "class", "bar", "x", x0, "y", y, "width", lost-x0, "height", pictureBar, "rx", 2.0)
	if op.Lease != nil {
		p.inside("inside", "holds the lock", x0, lost, middle)
	}
	if lost < x1 {
		p.el("rect", "", "class", "lost", "x", lost, "y", y, "width", x1-lost, "height", pictureBar)
		p.inside("inside warn", why, lost, x1, middle)
	}
	if op.Lease != nil && op.Lease.ReleasedAt.Known() {
		p.el("path", "", "class", "end", "d", fmt.Sprintf("M%s %sv%g", number(x1), number(y-2), pictureBar+4))
	}
}

// inside writes a text into the middle of a bar, if it fits.
func (p *picture) inside(class, text string, x0, x1, middle float64) {
	if textWidth(text)+8 < x1-x0 {
		p.text(class, text, (x0+x1)/2, middle+4, "text-anchor", "middle")
	}
}

// words names an order and its fault at the beginning of its bar, and the outcome at the end. If the bar is short, both
// are one line.
func (p *picture) words(op *history.Op, x0, x1, base float64) {
	name := "order " + short(p.cell, op)
	hit := func(f history.Fault) bool { return f.Order == op.Order && f.On == "" && !kills(f) } // its lane names a death
	if i := slices.IndexFunc(p.cell.Faults, hit); i >= 0 {
		name += ", " + clip(p.cell.Faults[i].Text, 70)
	}
	outcome := p.outcome(op)
	if textWidth(name)+textWidth(outcome)*1.1+30 < x1-x0 {
		p.text("name", name, x0, base)
		p.text("outcome", outcome, x1, base, "text-anchor", "end")
		return
	}
	line, anchor := name+" "+outcome, "start"
	x := x0
	if need := textWidth(line) * 1.1; x+need > p.right() {
		x, anchor = x1, "end"
	}
	p.text("outcome", line, x, base, "text-anchor", anchor)
}

// outcomes are those of orders that did not sell, in words.
var outcomes = map[history.Outcome]string{
	history.Busy: "finds the lock busy", history.Refused: "is refused", history.NotSold: "does not sell",
	history.NotSent: "was not sent", history.Unknown: "has an unknown outcome",
}

func (p *picture) outcome(op *history.Op) string {
	first := firstEvidence(p.cell)
	switch {
	case op.Outcome != history.Sold || len(op.Units) == 0:
		return outcomes[op.Outcome]
	case len(first.Orders) > 1 && slices.Contains(op.Units, first.Unit):
		if first.Orders[0] == op.Order {
			return fmt.Sprintf("sells unit %d", first.Unit)
		}
		return fmt.Sprintf("sells unit %d again", first.Unit)
	}
	return fmt.Sprintf("sells unit %d", op.Units[0])
}

// lostLock returns the time in which the lock key was the order's, if the key expired or another order removed it. It
// returns nil if the order kept its lock, and for a lock on several nodes, which has no single end.
func (p *picture) lostLock(op *history.Op) (lost *hold) {
	if len(p.keys) != 1 {
		return nil
	}
	for _, h := range p.keys[0].holds {
		if h.op.Order == op.Order && (h.how == expired || h.how == stolen) {
			lost = h
		}
	}
	return lost
}

// keyEnd returns when a key ended. An expired key ended when its TTL was over, if that was before the next order made
// it.
func (p *picture) keyEnd(k *lockKey, h *hold) float64 {
	if h.how != expired || p.cell.TTL <= 0 {
		return h.to
	}
	from := h.from
	for _, e := range k.events {
		if e.op == h.op && e.Renews() && e.Succeeded() && e.End.Known() {
			from = max(from, float64(e.End))
		}
	}
	return min(from+float64(p.cell.TTL), h.to)
}

// lock draws the orders that held a lock key, with words beside a bar that is too short to have them inside.
func (p *picture) lock(k *lockKey, name string) {
	const height = 32.0
	shown := slices.DeleteFunc(slices.Clone(k.holds), func(h *hold) bool {
		holder := func(op *history.Op) bool { return op.Order == h.op.Order }
		return !slices.ContainsFunc(p.window.ops, holder) || h.from > p.hi || h.to < p.lo
	})
	if len(shown) == 0 {
		return
	}
	p.lane(name, height)
	middle := p.y + height/2
	var before *hold
	for _, h := range shown {
		x0, x1 := p.x(h.from), p.x(min(p.keyEnd(k, h), p.hi))
		p.group("lease "+p.colours[h.op.Instance], p.holdTooltip(h))
		p.el("rect", "", "class", "bar", "x", x0, "y", middle-pictureBar/2, "width", max(x1-x0, 2),
			"height", pictureBar, "rx", 1.5)
		text := "held by order " + short(p.cell, h.op)
		if fits := textWidth(text)+8 < x1-x0; fits {
			p.inside("inside", text, x0, x1, middle)
			text = ""
		}
		if h.how == stolen && p.shows(h.to) {
			p.cross(x1, middle)
		}
		p.end()
		if before != nil && before.how == expired && text != "" {
			text = "expired, then " + text
		}
		if x := max(x1, x0+2) + 7; text != "" && x+textWidth(text) < p.right() {
			p.text("label", text, x, middle+4)
		}
		before = h
	}
	p.y += height + 6
}
