package html

import (
	"cmp"
	"fmt"
	"slices"

	"stockapi/loadtest/history"
)

// maxJoins bounds the pairs of sales of one unit that one timeline joins.
const maxJoins = 60

// mark is where on the timeline an order sold a unit.
type mark struct {
	unit int64
	x, y float64
	op   *history.Op
}

// sale marks the write of an order that sold, or its answer if the trace has no write.
func (d *drawing) sale(op *history.Op, middle float64) {
	if op.Outcome != history.Sold || op.Phase == history.Reading {
		return
	}
	at, write := op.Done, op.LastWrite()
	if write != nil {
		at = write.End
	}
	if !at.Known() || !d.shows(float64(at)) {
		return
	}
	x := d.x(float64(at))
	if write == nil {
		d.diamond("write", "", x, middle)
	}
	for _, u := range op.Units[:min(len(op.Units), 20)] {
		d.sales = append(d.sales, mark{u, x, middle, op})
	}
}

// joins rings and joins the sales of each unit that was sold more than once. The first violation comes last, on top. It
// returns what writes the words about that, once the orders have theirs.
func (d *drawing) joins() (words func()) {
	words = func() {}
	slices.SortStableFunc(d.sales, func(a, b mark) int {
		return cmp.Or(cmp.Compare(a.unit, b.unit), cmp.Compare(a.x, b.x))
	})
	focus := slices.DeleteFunc(slices.Clone(d.sales), func(m mark) bool { return !d.window.focus[m.op.Order] })
	drawn := 0
	for pass, marks := range [][]mark{d.sales, focus} {
		for i := 1; i < len(marks) && drawn < maxJoins; i++ {
			a, b := marks[i-1], marks[i]
			first := d.window.focus[a.op.Order] && d.window.focus[b.op.Order]
			if a.unit != b.unit || first != (pass == 1) {
				continue
			}
			drawn++
			bend := d.join(a, b, first)
			if first {
				words = func() { d.joinLabel(fmt.Sprintf("unit %d sold twice", a.unit), a, b, bend) }
			}
		}
	}
	return words
}

func (d *drawing) join(a, b mark, first bool) (bend float64) {
	class := "join " + stockSign.severity()
	if first {
		class = "join first " + stockSign.severity()
	}
	d.group(class, "")
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
	d.group("join "+stockSign.severity(), "")
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
			d.rect("tagbox", "", room.x0, room.x1, room.y0, 16, "rx", 3.0)
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
		d.backgrounds.rect("overlap "+lockSign.severity(), clip(f.Evidence[0].Text, 300),
			d.x(at.lo), max(d.x(at.hi), d.x(at.lo)+2), d.top-6, d.y-d.top+6)
	}
}
