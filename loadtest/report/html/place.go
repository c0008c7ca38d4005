package html

import (
	"fmt"
	"slices"
)

// box is the room that a text or a mark takes on a timeline.
type box struct{ x0, y0, x1, y1 float64 }

func (b box) meets(o box) bool { return b.x0 < o.x1 && o.x0 < b.x1 && b.y0 < o.y1 && o.y0 < b.y1 }

// spot is a text with a place where it may stand. Its anchor is "start", if it is empty, "middle" or "end".
type spot struct {
	x, y         float64
	text, anchor string
}

// box estimates the room of the text, which is 11 pixels high and may be bold, with a gap to the next one.
func (s spot) box() box {
	w := textWidth(s.text)*1.06 + 4
	from := s.x
	switch s.anchor {
	case "middle":
		from -= w / 2
	case "end":
		from -= w
	}
	return box{from - 2, s.y - 9, from + w + 2, s.y + 3}
}

// reserve keeps the room of a mark free of texts.
func (d *drawing) reserve(x, y, r float64) {
	d.taken = append(d.taken, box{x - r, y - r, x + r, y + r})
}

// stroke draws a line down from a point, and keeps its room free of texts.
func (d *drawing) stroke(class, title string, x, y, height float64) {
	d.taken = append(d.taken, box{x - 1, y, x + 1, y + height})
	d.el("path", title, "class", class, "d", fmt.Sprintf("M%s %sv%g", number(x), number(y), height))
}

// put writes a text at the first of the spots where it covers no mark and no other text, and lies within the timeline.
// If there is none, it writes nothing: the tooltips and the story say it too.
func (d *drawing) put(class string, spots ...spot) bool {
	for _, s := range spots {
		b := s.box()
		covers := slices.ContainsFunc(d.taken, b.meets) || slices.ContainsFunc(d.lines, b.meets)
		if s.text == "" || b.x0 < 0 || b.x1 > d.width || covers {
			continue
		}
		d.taken = append(d.taken, b)
		if s.anchor == "" {
			d.text(class, s.text, s.x, s.y)
		} else {
			d.text(class, s.text, s.x, s.y, "text-anchor", s.anchor)
		}
		return true
	}
	return false
}

// within returns the spots in a row from x0 to x1 at which the first of the texts with room there may stand, or else
// the next: its middle, its beginning, its end, and then whatever the marks leave free.
func (d *drawing) within(x0, x1, y float64, texts ...string) (spots []spot) {
	for _, text := range texts {
		w := textWidth(text)*1.06 + 4
		if w+8 > x1-x0 {
			continue
		}
		spots = append(spots, spot{(x0 + x1 - w) / 2, y, text, ""}, spot{x0 + 5, y, text, ""}, spot{x1 - 5 - w, y, text, ""})
		for _, b := range d.taken {
			if b.y0 < y+3 && y-9 < b.y1 && b.x1 > x0 && b.x1+5+w < x1 {
				spots = append(spots, spot{b.x1 + 4, y, text, ""})
			}
		}
	}
	return spots
}
