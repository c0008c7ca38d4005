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
	p.joins()()
}

func (p *picture) instance(name string) {
	var bars []*bar
	for _, op := range p.window.ops {
		if op.Instance == name {
			bars = append(bars, &bar{op: op, end: p.lockEnd(op)})
		}
	}
	if len(bars) == 0 {
		return
	}
	height := float64(len(bars)) * pictureRow
	p.lane("instance "+name, height)
	p.stopped(bars, height)
	for i, b := range bars {
		p.order(b, p.y+float64(i)*pictureRow)
	}
	p.y += height + 6
}

// order draws one order; y is the top of its row. The words stand above the first order's bar, and below the bars of
// all others: so they keep clear of the line that joins two sales of one unit.
func (p *picture) order(b *bar, y float64) {
	op := b.op
	middle, base := y+pictureRow-15, y+17
	if p.drawn > 0 {
		middle, base = y+15, y+pictureRow-9
	}
	p.drawn++
	a, u := tenure(op), underWay(op)
	x0, x1 := p.x(a.lo), max(p.x(a.hi), p.x(a.lo)+2.5)
	if neverEnded(op) {
		x1 = p.right()
	}
	class := "order " + p.colours[op.Instance]
	if op.Lease == nil {
		class += " nolease"
	}
	p.group(class, p.tooltip(op))
	b.x0, b.x1 = x0, x1
	before := x0
	if !worked(op) {
		before = x1
	}
	p.wait(p.x(u.lo), before, middle)
	p.put("key", p.within("waits", p.x(u.lo), before, middle+4)...)
	p.wait(x1, p.x(u.hi), middle)
	if worked(op) {
		p.bar(b, middle)
	}
	for _, f := range p.faultsOf(op) {
		if kills(f) {
			x, _ := p.faultSpan(f)
			p.cross(x, middle)
		}
	}
	p.commands(b, middle)
	p.inBar(b, middle)
	p.words(op, x0, x1, base)
	p.end()
}

// wait draws the time in which an order was sent and not yet at work, or not yet answered.
func (p *picture) wait(x0, x1, middle float64) {
	if x0 < x1 {
		p.el("line", "", "class", "wait", "x1", x0, "x2", x1, "y1", middle, "y2", middle)
	}
}

// bar draws the time in which an order was at work: solid while it had its lock, then pale, with a tick between.
func (p *picture) bar(b *bar, middle float64) {
	y := middle - pictureBar/2
	held, x := p.lostAt(b)
	p.el("rect", "", "class", "bar", "x", b.x0, "y", y, "width", max(held-b.x0, 2), "height", pictureBar, "rx", 2.0)
	if held < x {
		p.el("rect", "", "class", "maybe", "x", held, "y", y, "width", x-held, "height", pictureBar)
	}
	if x < b.x1 {
		p.el("rect", "", "class", "believes", "x", x, "y", y, "width", b.x1-x, "height", pictureBar)
		p.el("path", b.end.why+" at "+p.moment(b.end.at), "class", "over",
			"d", fmt.Sprintf("M%s %sv%g", number(x), number(y-4), pictureBar+8))
		p.taken = append(p.taken, box{x - 1, y - 4, x + 1, y + pictureBar + 4})
	}
	if l := b.op.Lease; l != nil && l.ReleasedAt.Known() && p.shows(float64(l.ReleasedAt)) {
		x := p.x(float64(l.ReleasedAt))
		p.el("path", "", "class", "end", "d", fmt.Sprintf("M%s %sv%g", number(x), number(y-2), pictureBar+4))
		p.taken = append(p.taken, box{x - 1, y - 2, x + 1, y + pictureBar + 2})
	}
}

// inBar says in the bar that its order holds the lock, and then that the lock is over.
func (p *picture) inBar(b *bar, middle float64) {
	if b.op.Lease == nil {
		return
	}
	held, x := p.lostAt(b)
	p.put("inside", p.within("holds the lock", b.x0, held, middle+4)...)
	var spots []spot
	for _, text := range []string{b.end.why + ": believes it holds the lock", b.end.why} {
		spots = append(spots, p.within(text, x, b.x1, middle+4)...)
	}
	p.put("inside warn", spots...)
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
	for i := range op.Trace {
		if cmd := &op.Trace[i]; writeOf(cmd) == refusedWrite && op.Outcome != history.Sold {
			brief, _ := p.why(op, cmd)
			return "is " + brief
		}
	}
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
		e := p.endOf(k, h)
		x0, x1 := p.x(h.from), p.x(min(e.at, p.hi))
		p.group("hold "+p.colours[h.op.Instance], p.holdTooltip(k, h))
		p.el("rect", "", "class", "bar", "x", x0, "y", middle-pictureBar/2, "width", max(x1-x0, 2),
			"height", pictureBar, "rx", 1.5)
		if h.how == stolen && p.shows(h.to) {
			p.cross(x1, middle)
		}
		text := "held by order " + short(p.cell, h.op)
		spots := p.within(text, x0, x1, middle+4)
		if before != nil && p.endOf(k, before).lost {
			spots = append(spots, spot{max(x1, x0+2) + 7, middle + 4, p.endOf(k, before).why + ", then " + text, ""})
		}
		p.put("label", append(spots, spot{max(x1, x0+2) + 7, middle + 4, text, ""})...)
		p.end()
		before = h
	}
	p.y += height + 6
}
