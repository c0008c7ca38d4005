package html

import (
	"fmt"
	"math"
	"slices"

	"stockapi/loadtest/history"
)

const (
	maxLocks = 5   // lanes of lock keys: Redlock's nodes
	maxHolds = 200 // holds per lane
	maxSide  = 4   // rows of holds that share a lock
)

// locks draws a lane per lock key and node: which order held it when, and how each hold ended. A single lane has a line
// for words.
func (d *drawing) locks(keys []*lockKey) {
	height := tallRow + 6
	if len(keys) > 1 {
		height = rowHeight + 4
	}
	for i, k := range keys {
		if i == maxLocks {
			d.put("below", spot{x: 8, y: d.y + 10, text: fmt.Sprintf("and %d more lock keys", len(keys)-i)})
			d.y += 18
			break
		}
		name := "lock key"
		if len(keys) > 1 {
			name = fmt.Sprintf("lock, node %d", i+1)
		}
		side := d.sideBySide(k)
		height := height + float64(side)*rowHeight
		d.lane(name, height)
		d.el("rect", clip(k.key, 120)+" on "+clip(k.node, 80), "class", "hit",
			"x", 0.0, "y", d.y, "width", gutter, "height", height)
		d.lock(k, d.y+height-2-rowHeight/2, len(keys) == 1)
		d.y += height + 4
	}
}

// sideBySide gives each hold that shares the lock with others, as readers and permits do, the first row with room for
// it, and returns how many rows that takes beside the first.
func (d *drawing) sideBySide(k *lockKey) (rows int) {
	ends := make([]float64, maxSide)
	for _, h := range k.holds {
		if h.from > d.hi || d.endOf(k, h).at < d.lo {
			continue
		}
		if !h.made.AcquiresAlone() {
			h.row = max(0, slices.IndexFunc(ends, func(end float64) bool { return end <= h.from }))
		}
		ends[h.row] = max(ends[h.row], d.endOf(k, h).at)
		rows = max(rows, h.row)
	}
	return rows
}

// lock draws the holds of one key: first all marks, then the words, because those keep clear of the marks.
func (d *drawing) lock(k *lockKey, middle float64, wordy bool) {
	var drawn []*hold
	if wordy {
		d.ofTheDead(k, middle)
	}
	for _, h := range k.holds {
		if len(drawn) < maxHolds && h.from <= d.hi && min(h.to, d.endOf(k, h).at) >= d.lo {
			d.hold(k, h, middle-float64(h.row)*rowHeight)
			drawn = append(drawn, h)
		}
	}
	renewals := 0
	for _, e := range k.events {
		if renewals < maxHolds && e.Prolongs() && e.End.Known() && d.shows(float64(e.End)) && !unknownScript(e.Command) {
			d.renewal(e.Command, middle-barHeight/2)
			renewals++
		}
	}
	if wordy {
		d.busy(k, middle)
	}
	own := func(h *hold) bool { return d.window.focus[h.op.Order] }
	drawn = append(slices.DeleteFunc(slices.Clone(drawn), func(h *hold) bool { return !own(h) }),
		slices.DeleteFunc(drawn, own)...) // the words of the violation's own holds come first
	wordy = wordy && !slices.ContainsFunc(drawn, func(h *hold) bool { return h.row > 0 }) // they are where words would be
	for _, h := range drawn {
		d.holdWords(k, h, middle-float64(h.row)*rowHeight, wordy)
	}
}

// ofTheDead dashes the time in which an order whose process died can have had the key. It told nothing of its lock.
func (d *drawing) ofTheDead(k *lockKey, middle float64) {
	for _, f := range d.cell.Faults {
		at := slices.IndexFunc(d.window.ops, func(op *history.Op) bool {
			return op.Order == f.Order && op.Lease == nil && op.Sent.Known()
		})
		if at < 0 || !kills(f) || f.On != "" || !f.At.Known() || !f.End.Known() {
			continue
		}
		op := d.window.ops[at]
		from, to := float64(op.Sent), math.Inf(1)
		if k.ttl > 0 {
			to = float64(f.End) + k.ttl
		}
		for _, h := range k.holds {
			switch {
			case h.from > float64(f.At):
				to = min(to, h.from)
			case h.made.AcquiresAlone():
				from = max(from, min(h.to, d.endOf(k, h).since)) // until then it was another's
			}
		}
		if x0, x1 := d.x(from), d.x(to); x0 < x1 {
			text, line := "perhaps the key of order "+short(d.cell, op)+", which died", middle-barHeight/2-6
			d.el("rect", "", "class", "maybe "+d.colours[op.Instance],
				"x", x0, "y", middle-barHeight/2, "width", x1-x0, "height", barHeight)
			d.put("gone", append(d.within(x0, x1, line, text), spot{x0, line, text, ""})...)
		}
	}
}

// busy hatches the times in which an order waited and was refused because another order held the lock. It does so only
// where no known order had the key: then these answers are the only sign of it.
func (d *drawing) busy(k *lockKey, middle float64) {
	for _, op := range d.window.ops {
		u := underWay(op)
		if op.Outcome != history.Busy || op.Lease != nil || u.hi < d.lo || u.lo > d.hi || d.known(k, u) {
			continue
		}
		title := "order " + short(d.cell, op) + " was told, at " + d.when(op.Done) + ", that another holds the lock"
		d.el("rect", title, "class", "busy",
			"x", d.x(u.lo), "y", middle-barHeight/2, "width", max(d.x(u.hi)-d.x(u.lo), 2), "height", barHeight)
	}
}

// known reports whether an order is known to have had the key in that time.
func (d *drawing) known(k *lockKey, s span) bool {
	return slices.ContainsFunc(k.holds, func(h *hold) bool { return h.from <= s.hi && d.endOf(k, h).since >= s.lo })
}

// hold draws a hold: solid while the key is known to exist, then dashed until it is known to be gone.
func (d *drawing) hold(k *lockKey, h *hold, middle float64) {
	class := "hold " + d.colours[h.op.Instance]
	if d.window.focus[h.op.Order] {
		class += " focus"
	}
	e := d.endOf(k, h)
	d.group(class, fmt.Sprintf("held by order %s on %s from %s",
		clip(h.op.Order, 80), clip(h.op.Instance, 40), d.moment(h.from)))
	x0, x1 := d.x(h.from), d.x(min(e.at, d.hi))
	solid := x1
	if from := d.x(e.since); x1 > from+1 {
		solid = max(from, x0)
	}
	y := middle - barHeight/2
	if e.since >= d.lo {
		d.el("rect", "", "class", "bar", "x", x0, "y", y, "width", max(solid-x0, 1.5), "height", barHeight, "rx", 1.5)
	}
	if x1 > solid+1 {
		d.el("rect", "", "class", "maybe", "x", solid, "y", y, "width", x1-solid, "height", barHeight)
	}
	switch {
	case h.how == stolen && d.shows(h.to):
		d.cross(x1, middle)
	case e.lost && d.shows(e.at):
		d.el("path", e.why+" at "+d.moment(e.at), "class", "over",
			"d", fmt.Sprintf("M%s %sv%g", number(x1), number(y-3), barHeight+6))
		d.taken = append(d.taken, box{x1 - 1, y - 3, x1 + 1, y + barHeight + 3})
	}
	d.end()
}

// holdWords says whose key it was and since when, inside, and how it ended, above.
func (d *drawing) holdWords(k *lockKey, h *hold, middle float64, wordy bool) {
	e, name := d.endOf(k, h), short(d.cell, h.op)
	x0, x1 := d.x(h.from), d.x(min(e.at, d.hi))
	d.group("hold "+d.colours[h.op.Instance], "")
	defer d.end()
	held := "held by order " + name
	d.put("label", d.within(x0, x1, middle+4, held+", since "+d.moment(h.from), held, "order "+name, name)...)
	if !wordy || !d.shows(e.at) || h.how == freed && x1-x0 < 30 && !d.window.focus[h.op.Order] {
		return
	}
	at, line := " at ", middle-barHeight/2-6
	if !e.exact() {
		at = " by "
	}
	class := "gone"
	if e.lost {
		class = "overlabel"
	}
	var spots []spot
	for _, text := range []string{name + ": " + e.why + at + d.moment(e.at), e.why} {
		spots = append(spots, spot{x1, line, text, "end"}, spot{x1 - 3, line, text, ""}, spot{x1, line, text, "middle"})
	}
	d.put(class, spots...)
}

// renewal draws a small triangle on the upper edge: filled if the renewal succeeded, hollow if it failed.
func (d *drawing) renewal(cmd *history.Command, y float64) {
	class, what := "renew", "renewed at "
	if !cmd.Succeeded() {
		class, what = "renew failed", "a renewal failed at "
	}
	x := d.x(float64(cmd.End))
	d.el("path", what+d.when(cmd.End), "class", class,
		"d", fmt.Sprintf("M%s %sl-3.5 -6h7z", number(x), number(y+3)))
	d.taken = append(d.taken, box{x - 3.5, y - 3, x + 3.5, y + 3})
}

func (d *drawing) cross(x, y float64) {
	d.reserve(x, y, 6)
	d.el("path", "", "class", "cross", "d", fmt.Sprintf("M%s %sl10 10m0 -10l-10 10", number(x-5), number(y-5)))
}

func (d *drawing) diamond(class, title string, x, y float64) {
	const r = 4.6
	d.reserve(x, y, r)
	d.el("path", title, "class", class,
		"d", fmt.Sprintf("M%s %sl%g %gl%g %gl%g %gz", number(x), number(y-r), r, r, -r, r, -r, -r))
}
