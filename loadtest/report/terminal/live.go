package terminal

import (
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/history"
)

// live is the grid of a run under way. It fills as cells finish.
type live struct {
	colour   bool
	places   []place
	selected map[place]bool
	rows     map[place]*catalog.Row

	// The last drawing is kept until a cell finishes or the width changes.
	drawn []string
	width int
}

// newLive returns an empty grid for the fault scenarios among the specs.
func newLive(specs []catalog.Spec, colour bool) *live {
	l := &live{colour: colour, selected: map[place]bool{}, rows: map[place]*catalog.Row{}}
	for _, s := range specs {
		if p := (place{s.Scenario.Name, s.Rung.Number}); s.Scenario.Fault() && !l.selected[p] {
			l.places, l.selected[p] = append(l.places, p), true
		}
	}
	return l
}

// add fills in a cell. Of several repetitions it shows the first, or the first that is not as expected.
func (l *live) add(c *history.Cell) {
	p := place{c.Scenario, c.Rung}
	row := catalog.Assess([]*history.Cell{c})[0]
	if was := l.rows[p]; l.selected[p] && (was == nil || len(was.Surprises) == 0 && len(row.Surprises) > 0) {
		l.rows[p], l.drawn = row, nil
	}
}

func (l *live) at(p place) entry {
	switch r := l.rows[p]; {
	case r != nil:
		return entryOf(r, 0)
	case l.selected[p]:
		return toCome
	default:
		return absent(p)
	}
}

// lines draws the grid, or nothing if it cannot be that narrow.
func (l *live) lines(width int) []string {
	if len(l.places) == 0 {
		return nil
	}
	if l.drawn == nil || l.width != width {
		title := "· to come; " + strings.ReplaceAll(legend, ",", "") // within 80 columns
		l.width, l.drawn = width, []string{text.Snip(title, width, "…")}
		for _, block := range newGrid(l.places, l.at).blocks(width, l.colour) {
			l.drawn = append(l.drawn, block...)
		}
	}
	if text.LongestLineLen(strings.Join(l.drawn, "\n")) > width {
		return nil
	}
	return l.drawn
}
