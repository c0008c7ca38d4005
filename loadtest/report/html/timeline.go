package html

import (
	"fmt"
	"html/template"
	"slices"

	"stockapi/loadtest/history"
)

// figure is one timeline, drawn to scale, with what it shows in words.
type figure struct {
	SVG     template.HTML
	Caption string
}

// drawing is a timeline that is being drawn: lanes are added from top to bottom.
type drawing struct {
	svg
	scale
	cell   *history.Cell
	window window
	marks  *marks
	y      float64
	// backgrounds are those of the lanes. They lie below the lines of the axis, and all else above them.
	backgrounds svg
	// colours gives each instance its own, the same in every lane.
	colours map[string]string
}

const top = 26.0 // the axis

const differentClocks = "The instances do not have one clock: lanes may be shifted against each other."

// timelines draws a cell. If its first violation is a short moment of it, it draws that moment a second time, enlarged.
func timelines(c *history.Cell) []figure {
	if c.Len() == 0 {
		return nil
	}
	w := choose(c)
	keys := lockKeys(c, w)
	figures := []figure{draw(c, w, keys)}
	if near, worth := closeUp(c, w); worth {
		figures = append(figures, draw(c, near, keys))
	}
	return figures
}

func draw(c *history.Cell, w window, keys []*lockKey) figure {
	d := newDrawing(c, w, reportWidth)
	d.instances()
	d.around()
	d.locks(keys)
	d.overlaps()
	d.joins()
	caption := w.caption
	if len(keys) == 0 {
		caption += " No lock key in Redis: this rung has none, or no command on it was seen."
	}
	if clocksDiffer(c) {
		caption += " " + differentClocks
	}
	// svg escapes all text and attributes.
	return figure{SVG: template.HTML(d.whole()), Caption: caption}
}

// newDrawing begins a timeline, and gives each instance its colour.
func newDrawing(c *history.Cell, w window, width float64) *drawing {
	d := &drawing{
		scale: scale{w.span, width}, cell: c, window: w, marks: newMarks(), y: top, colours: map[string]string{},
	}
	for i, name := range d.names() {
		d.colours[name] = fmt.Sprintf("i%d", i%4)
	}
	return d
}

// closeUp returns the moment in which the orders of the first violation wrote, and whether it needs a timeline of its
// own, because it is too small to be seen in the larger window.
func closeUp(c *history.Cell, w window) (window, bool) {
	near := window{span: noSpan(), focus: w.focus}
	for _, at := range firstEvidence(c).At {
		near.include(at)
	}
	for _, op := range w.ops {
		last := lastWrite(op)
		if w.focus[op.Order] && last != nil {
			near.include(last.At, last.End)
		}
	}
	if near.empty() || near.length() > w.length()/12 || w.length() < 50e6 {
		return w, false
	}
	air := max(near.length()*0.6, 1e6)
	near.lo, near.hi = max(near.lo-air, w.lo), min(near.hi+air, w.hi)
	for _, op := range w.ops {
		if active(op).meets(near.span) {
			near.ops = append(near.ops, op)
		}
	}
	near.caption = fmt.Sprintf("The moment itself, %.0f times as large: %s to %s.",
		w.length()/near.length(), moment(near.lo), moment(near.hi))
	return near, near.lo < near.hi
}

func clocksDiffer(c *history.Cell) bool {
	for _, in := range c.Instances {
		if in.Clock != c.Instances[0].Clock {
			return true
		}
	}
	return false
}

// names returns the names of the instances in the cell's order. An instance that only orders name comes last.
func (d *drawing) names() []string {
	var names []string
	for _, in := range d.cell.Instances {
		names = append(names, in.Name)
	}
	for _, op := range d.window.ops {
		if !slices.Contains(names, op.Instance) {
			names = append(names, op.Instance)
		}
	}
	return names
}

// instances draws a lane per instance.
func (d *drawing) instances() {
	for _, name := range d.names() {
		var bars []*bar
		for _, op := range d.window.ops {
			if op.Instance == name {
				bars = append(bars, d.newBar(op))
			}
		}
		rows := pack(bars)
		height := float64(max(rows, 1))*rowHeight + 8
		d.lane("instance "+name, height)
		d.stopped(bars, height)
		for _, b := range bars {
			d.order(b, d.y+4+float64(b.row)*rowHeight)
		}
		d.y += height + 4
	}
}

// lane draws the background of a lane, and its name.
func (d *drawing) lane(name string, height float64) {
	d.backgrounds.el("rect", "", "class", "lane", "x", 0.0, "y", d.y, "width", d.width, "height", height, "rx", 4.0)
	d.text("name", clip(name, 14), 8, d.y+16)
}

// whole is the timeline as an element of a page.
func (d *drawing) whole() string {
	s := &svg{}
	s.tag("svg", "viewBox", fmt.Sprintf("0 0 %g %s", d.width, number(d.y+2)), "role", "img",
		"aria-label", "timeline: "+clip(d.window.caption, 300))
	s.WriteString(">" + d.content() + "</svg>")
	return s.String()
}

// content puts the axis under the lanes. Its lines come first, so that all else is drawn over them.
func (d *drawing) content() string {
	s := &svg{}
	height := d.y + 2
	s.WriteString(d.backgrounds.String())
	for _, t := range d.ticks() {
		s.el("line", "", "class", "grid", "x1", t.x, "x2", t.x, "y1", top-6, "y2", height)
		anchor := "middle"
		if t.x > d.right()-30 {
			anchor = "end"
		}
		s.text("axis", t.text, t.x, 14, "text-anchor", anchor)
	}
	s.WriteString(d.String())
	return s.String()
}
