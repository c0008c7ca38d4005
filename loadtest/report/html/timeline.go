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
	locks  locks
	// numbers are those of the window's orders in the cell.
	numbers map[string]int
	sales   []mark
	bars    []*bar
	// taken is the room of marks and texts, which no other text may cover, and lines is that of the line that joins the
	// sales of the first violation: only its own words stand on it.
	taken, lines []box
	// top is the upper end of the lanes, and y that of the next one.
	top, y float64
	// backgrounds are those of the lanes. They lie below the lines of the axis, and all else above them.
	backgrounds svg
	heads       svg // the names of the lanes once more: they stay when the timeline is scrolled sideways
	// colours gives each instance its own, the same in every lane.
	colours map[string]string
}

const (
	headHeight = 20.0 // the line that names a violation
	axisHeight = 26.0
	lastTick   = 30.0 // from the right edge: there the text of a tick ends at its line
)

const differentClocks = "The instances do not have one clock: lanes may be shifted against each other."

// newFigure draws a cell, or returns nil if it has no orders.
func newFigure(c *history.Cell) *figure {
	if len(c.Ops) == 0 {
		return nil
	}
	w, locks := choose(c), locksOf(c)
	d := drawTimeline(c, w, locks, reportWidth)
	caption := w.caption
	if len(locks.Locks) == 0 {
		caption += " No lock key: this rung has none, or no command on it was seen."
	}
	if clocksDiffer(c) {
		caption += " " + differentClocks
	}
	// svg escapes all text and attributes.
	return &figure{SVG: template.HTML(d.whole()), Caption: caption}
}

// drawTimeline returns a timeline that has all its lanes.
func drawTimeline(c *history.Cell, w window, locks locks, width float64) *drawing {
	d := &drawing{
		scale: scale{span: w.span, width: width}, cell: c, window: w, locks: locks, top: axisHeight,
		colours: map[string]string{}, numbers: w.numbers(c),
	}
	if w.finding.Result == history.Broken {
		d.top += headHeight
	}
	d.y = d.top
	for i, name := range d.names() {
		d.colours[name] = fmt.Sprintf("i%d", i%4)
	}
	d.headline()
	if w.queue {
		d.queue()
	} else {
		d.instances()
	}
	d.around()
	d.lanes()
	d.overlaps()
	joined := d.joins()
	for _, b := range d.bars {
		d.words(b, b.middle)
	}
	joined()
	return d
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
		height := 8.0
		if len(rows) == 0 {
			height += rowHeight
		}
		middles := make([]float64, len(rows))
		for i, r := range rows {
			middles[i] = d.y + height - 4 + r.above
			height += r.above + r.below
		}
		d.lane("instance "+name, height)
		d.stopped(bars, height)
		for _, b := range bars {
			b.middle = middles[b.row]
			d.order(b, b.middle)
			d.bars = append(d.bars, b)
		}
		d.y += height + 4
	}
}

// lane draws the background of a lane, and its name.
func (d *drawing) lane(name string, height float64) {
	d.backgrounds.rect("lane", "", 0, d.width, d.y, height, "rx", 4.0)
	d.heads.rect("head", "", 0, gutter, d.y, height)
	for _, s := range []*svg{&d.svg, &d.heads} {
		s.text("name", clip(name, 14), 8, d.y+16)
	}
	d.taken = append(d.taken, spot{x: 8, y: d.y + 16, text: clip(name, 14)}.box())
}

// whole is the timeline as elements of a page: the names of its lanes lie upon it.
func (d *drawing) whole() string {
	s := &svg{}
	s.tag("svg", "class", "timeline "+signOf(d.cell).severity(),
		"viewBox", fmt.Sprintf("0 0 %g %s", d.width, number(d.y+2)), "role", "img",
		"aria-label", "timeline: "+clip(d.window.caption, 300))
	s.WriteString(">" + d.content() + "</svg>")
	s.tag("svg", "class", "heads", "viewBox", fmt.Sprintf("0 0 %g %s", gutter, number(d.y+2)), "aria-hidden", "true",
		"style", fmt.Sprintf("width:%.3f%%", gutter/d.width*100))
	s.WriteString(">" + d.heads.String() + "</svg>")
	return s.String()
}

// content puts the axis under the lanes. Its lines come first, so that all else is drawn over them.
func (d *drawing) content() string {
	s := &svg{}
	height := d.y + 2
	s.WriteString(d.backgrounds.String())
	free := 0.0 // from here on the axis has room for the text of a tick
	for _, t := range d.ticks() {
		s.el("line", "", "class", "grid", "x1", t.x, "x2", t.x, "y1", d.top-6, "y2", height)
		text := spot{t.x, d.top - 12, t.text, "middle"}
		if t.x > d.right()-lastTick {
			text.anchor = "end"
		}
		if room := text.box(); room.x0 >= free {
			s.text("axis", text.text, text.x, text.y, "text-anchor", text.anchor)
			free = room.x1
		}
	}
	s.WriteString(d.String())
	return s.String()
}
