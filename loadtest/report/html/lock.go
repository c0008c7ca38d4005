package html

import (
	"fmt"
	"slices"

	"stockapi/loadtest/history"
)

const (
	maxLocks = 5   // lanes of lock keys: Redlock's nodes
	maxHolds = 200 // holds per lane
)

// locks draws a lane per lock key and node: which order held it when, and how each hold ended.
func (d *drawing) locks(keys []*lockKey) {
	for i, k := range keys {
		if i == maxLocks {
			d.text("below", fmt.Sprintf("and %d more lock keys", len(keys)-i), 8, d.y+10)
			d.y += 18
			break
		}
		name := "lock key"
		if len(keys) > 1 {
			name = fmt.Sprintf("lock, node %d", i+1)
		}
		d.lane(name, rowHeight+4)
		d.el("rect", clip(k.key, 120)+" on "+clip(k.node, 80), "class", "hit",
			"x", 0.0, "y", d.y, "width", gutter, "height", rowHeight+4)
		drawn := 0
		for _, h := range k.holds {
			if drawn < maxHolds && h.from <= d.hi && h.to >= d.lo {
				d.hold(h, d.y+2+rowHeight/2)
				drawn++
			}
		}
		for _, e := range k.events {
			if drawn < 2*maxHolds && e.Prolongs() && e.End.Known() && d.shows(float64(e.End)) {
				d.renewal(e.Command, d.y+2+rowHeight/2-barHeight/2)
				drawn++
			}
		}
		if len(keys) == 1 {
			d.busy(k, d.y+2+rowHeight/2)
		}
		d.y += rowHeight + 8
	}
}

// busy hatches the times in which an order without a trace waited and was refused because another order held the lock.
// It does so only where no known order had the key: then these answers are the only sign of it.
func (d *drawing) busy(k *lockKey, middle float64) {
	for _, op := range d.window.ops {
		u := underWay(op)
		if op.Outcome != history.Busy || len(op.Trace) > 0 || u.hi < d.lo || u.lo > d.hi || k.heldThrough(u) {
			continue
		}
		title := "order " + clip(short(d.cell, op), 40) + " was told, at " + when(op.Done) + ", that another holds the lock"
		d.el("rect", title, "class", "busy",
			"x", d.x(u.lo), "y", middle-barHeight/2, "width", max(d.x(u.hi)-d.x(u.lo), 2), "height", barHeight)
	}
}

func (k *lockKey) heldThrough(s span) bool {
	return slices.ContainsFunc(k.holds, func(h *hold) bool {
		end := h.known
		if h.how == freed || h.how == stolen {
			end = h.to
		}
		return h.from <= s.hi && end >= s.lo
	})
}

// hold draws a hold: solid while the key is known to exist, then dashed until it is known to be gone.
func (d *drawing) hold(h *hold, middle float64) {
	class := "hold " + d.colours[h.op.Instance]
	if d.window.focus[h.op.Order] {
		class += " focus"
	}
	d.group(class, d.holdTooltip(h))
	x0, x1 := d.x(h.from), d.x(min(h.to, d.hi))
	solid := x1
	if h.how == expired || h.how == open {
		solid = max(d.x(h.known), x0+2)
	}
	y := middle - barHeight/2
	d.el("rect", "", "class", "bar", "x", x0, "y", y, "width", max(solid-x0, 1.5), "height", barHeight, "rx", 1.5)
	if x1 > solid+1 {
		d.el("rect", "", "class", "maybe", "x", solid, "y", y, "width", x1-solid, "height", barHeight)
	}
	if h.how == stolen && d.shows(h.to) {
		d.cross(x1, middle)
	}
	if name := short(d.cell, h.op); textWidth(name)+6 < x1-x0 {
		d.text("label", name, x0+4, middle+4)
	}
	d.end()
}

func (d *drawing) holdTooltip(h *hold) string {
	text := fmt.Sprintf("held by order %s on %s from %s", clip(h.op.Order, 80), clip(h.op.Instance, 40), moment(h.from))
	switch h.how {
	case freed:
		text += ", removed by it at " + moment(h.to)
	case stolen:
		text += ", removed by order " + clip(short(d.cell, h.by), 40) + " at " + moment(h.to)
	case expired:
		text += ", gone by " + moment(h.to) + ", when order " + clip(short(d.cell, h.by), 40) + " made it again"
	case open:
		text += "; nobody removed it"
	}
	return text
}

// renewal draws a small triangle on the upper edge: filled if the renewal succeeded, hollow if it failed.
func (d *drawing) renewal(cmd *history.Command, y float64) {
	class, what := "renew", "renewed at "
	if !cmd.Succeeded() {
		class, what = "renew failed", "a renewal failed at "
	}
	x := d.x(float64(cmd.End))
	d.el("path", what+when(cmd.End), "class", class,
		"d", fmt.Sprintf("M%s %sl-3.5 -6h7z", number(x), number(y+3)))
}

func (d *drawing) cross(x, y float64) {
	d.el("path", "", "class", "cross", "d", fmt.Sprintf("M%s %sl10 10m0 -10l-10 10", number(x-5), number(y-5)))
}

func (d *drawing) diamond(class string, x, y, r float64) {
	d.el("path", "", "class", class,
		"d", fmt.Sprintf("M%s %sl%g %gl%g %gl%g %gz", number(x), number(y-r), r, r, -r, r, -r, -r))
}
