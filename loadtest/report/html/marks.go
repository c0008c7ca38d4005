package html

import (
	"cmp"
	"fmt"
	"slices"

	"stockapi/loadtest/history"
)

// maxJoins bounds the pairs of sales of one unit that one timeline joins.
const maxJoins = 60

// marks holds where on the timeline each unit was sold.
type marks struct {
	units []int64
	at    map[int64][]mark
}

type mark struct {
	x, y float64
	op   *history.Op
}

func newMarks() *marks { return &marks{at: map[int64][]mark{}} }

func (m *marks) add(unit int64, p mark) {
	if m.at[unit] == nil {
		m.units = append(m.units, unit)
	}
	m.at[unit] = append(m.at[unit], p)
}

// sale marks the write of an order that sold, or its answer if the trace has no write.
func (d *drawing) sale(op *history.Op, write *history.Command, middle float64) {
	if op.Outcome != history.Sold || op.Phase == history.Reading {
		return
	}
	at := op.Done
	if write != nil {
		at = write.End
	}
	if !at.Known() || !d.shows(float64(at)) {
		return
	}
	x := d.x(float64(at))
	d.diamond("write", "", x, middle, 4.6)
	for _, u := range op.Units[:min(len(op.Units), 20)] {
		d.marks.add(u, mark{x, middle, op})
	}
}

// joins rings and joins the sales of each unit that was sold more than once. The first violation comes last, on top. It
// returns what writes the words about that, once the orders have theirs.
func (d *drawing) joins() (words func()) {
	words = func() {}
	slices.Sort(d.marks.units)
	slices.SortStableFunc(d.marks.units, func(a, b int64) int { return cmp.Compare(d.inFocus(a), d.inFocus(b)) })
	drawn := 0
	for _, u := range d.marks.units {
		at := d.marks.at[u]
		slices.SortStableFunc(at, func(a, b mark) int { return cmp.Compare(a.x, b.x) })
		if d.inFocus(u) > 0 {
			at = d.pair(at)
		}
		for i := 1; i < len(at) && drawn < maxJoins; i++ {
			bend := d.join(u, at[i-1], at[i])
			if d.window.focus[at[i-1].op.Order] && d.window.focus[at[i].op.Order] {
				a, b := at[i-1], at[i]
				words = func() { d.joinLabel(fmt.Sprintf("unit %d sold twice", u), a, b, bend) }
			}
			drawn++
		}
	}
	return words
}

// inFocus returns 1 if both sales of the first violation sold the unit.
func (d *drawing) inFocus(unit int64) int {
	n := 0
	for _, m := range d.marks.at[unit] {
		if d.window.focus[m.op.Order] {
			n++
		}
	}
	return n / 2
}

// pair moves the sales of the first violation to the end, side by side.
func (d *drawing) pair(at []mark) []mark {
	at = slices.Clone(at)
	slices.SortStableFunc(at, func(a, b mark) int {
		fa, fb := d.window.focus[a.op.Order], d.window.focus[b.op.Order]
		switch {
		case fa == fb:
			return 0
		case fb:
			return -1
		}
		return 1
	})
	return at
}

func (d *drawing) join(unit int64, a, b mark) (bend float64) {
	class, first := "join "+stockBroken.class, d.window.focus[a.op.Order] && d.window.focus[b.op.Order]
	if first {
		class = "join first " + stockBroken.class
	}
	d.group(class, fmt.Sprintf("unit %d was sold twice: to order %s and to order %s",
		unit, short(d.cell, a.op), short(d.cell, b.op)))
	bend = 18.0
	if a.x > d.right()-60 || b.x > d.right()-60 {
		bend = -18
	}
	path := fmt.Sprintf("M%s %sC%s %s %s %s %s %s", number(a.x), number(a.y),
		number(a.x+bend), number(a.y), number(b.x+bend), number(b.y), number(b.x), number(b.y))
	if b.x-a.x > 200 { // browsers draw so flat a curve with a stroke that gets thin
		path, bend = fmt.Sprintf("M%s %sL%s %s", number(a.x), number(a.y), number(b.x), number(b.y)), 0
	}
	d.el("path", "", "d", path)
	if first {
		for i := range joinSteps + 1 {
			x, y := onJoin(a, b, bend, float64(i)/joinSteps)
			d.lines = append(d.lines, box{x - 1, y - 1, x + 1, y + 1})
		}
	}
	for _, m := range []mark{a, b} {
		d.el("circle", "", "cx", m.x, "cy", m.y, "r", 7.5)
		d.reserve(m.x, m.y, 7.5)
	}
	d.end()
	return bend
}

// joinSteps is the number of pieces of a line between two sales that are kept free of words.
const joinSteps = 40

// onJoin returns a point of the line from a to b: at its beginning if t is 0, at its end if t is 1.
func onJoin(a, b mark, bend, t float64) (x, y float64) {
	if bend == 0 {
		return a.x + (b.x-a.x)*t, a.y + (b.y-a.y)*t
	}
	smooth := t * t * (3 - 2*t)
	return a.x + (b.x-a.x)*smooth + 3*bend*t*(1-t), a.y + (b.y-a.y)*smooth
}

// joinLabel writes a text on the line from a to b, where it covers no mark and no other text. The line below its row is
// as good.
func (d *drawing) joinLabel(text string, a, b mark, bend float64) {
	d.group("join "+stockBroken.class, "")
	defer d.end()
	half := textWidth(text)/2 + 6
	for _, t := range []float64{.5, .4, .6, .3, .7, .2, .8, .1, .9} {
		x, y := onJoin(a, b, bend, t)
		x = min(max(x, gutter+half), d.right()-half)
		for _, dy := range []float64{0, -14, 14, -22, 22} {
			room := box{x - half, y + dy - 8, x + half, y + dy + 8}
			if room.y0 < d.top || room.y1 > d.y || slices.ContainsFunc(d.taken, room.meets) {
				continue
			}
			d.el("rect", "", "class", "tagbox", "x", room.x0, "y", room.y0, "width", 2*half, "height", 16.0, "rx", 3.0)
			d.text("twice", text, x, y+dy+4, "text-anchor", "middle")
			d.taken = append(d.taken, room)
			return
		}
	}
}

// overlaps shades the time in which two orders believed that they held the lock.
func (d *drawing) overlaps() {
	for _, f := range d.cell.Findings {
		if f.Verdict != history.Exclusion || f.Result != history.Broken || len(f.Evidence) == 0 {
			continue
		}
		at := noSpan()
		at.include(f.Evidence[0].At...)
		if at.empty() || !at.meets(d.span) {
			continue
		}
		d.backgrounds.el("rect", clip(f.Evidence[0].Text, 300), "class", "overlap "+lockBroken.class,
			"x", d.x(at.lo), "y", d.top-6, "width", max(d.x(at.hi)-d.x(at.lo), 2), "height", d.y-d.top+6)
	}
}
