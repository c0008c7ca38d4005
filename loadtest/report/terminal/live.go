package terminal

import (
	"fmt"
	"slices"
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
	entries  map[place]entry

	// The last drawing is kept until a cell finishes or the size changes.
	drawn         []string
	width, height int
}

// newLive returns an empty grid of the specs.
func newLive(specs []catalog.Spec, colour bool) *live {
	l := &live{colour: colour, selected: map[place]bool{}, rows: map[place]*catalog.Row{}, entries: map[place]entry{}}
	for _, s := range specs {
		if p := (place{s.Scenario.Name, s.Rung.Number}); !l.selected[p] {
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
		e := entryOf(row, 0)
		e.foreseen = foreseen(p)
		l.rows[p], l.entries[p], l.drawn = row, e, nil
	}
}

func (l *live) at(p place) entry {
	e, known := l.entries[p]
	switch {
	case known:
		return e
	case l.selected[p]:
		e = toCome(p)
	default:
		e = absent(p)
	}
	l.entries[p] = e
	return e
}

// lines draws the grid in that space, or nothing if it cannot be that small.
func (l *live) lines(width, height int) []string {
	if len(l.places) == 0 || width < leastName {
		return nil
	}
	if l.drawn == nil || l.width != width || l.height != height {
		l.width, l.height, l.drawn = width, height, l.draw(width, height)
	}
	return l.drawn
}

// leastRows is the number of scenarios that are shown at least, where not all can be.
const leastRows = 4

// draw draws the grid as wide as possible: as it is printed at the end, or with narrow columns, or with columns of one
// letter. Where it is too high it shows the scenarios under way.
func (l *live) draw(width, height int) []string {
	g := newGrid(l.places, l.at)
	lines := []string{text.Snip("· to come; "+strings.ReplaceAll(legend, ",", ""), width, "…")} // within 80 columns
	if len(g.scenarios)+len(lines) < height {
		wide := slices.Concat(append([][]string{lines}, g.blocks(width, l.colour)...)...)
		if len(wide) <= height && widest(wide) <= width {
			return wide
		}
	}
	narrow := g.inFewestBlocks(func(blocks int) *narrowGrid {
		if blocks > 1 && width < leastWidth-1 {
			return nil
		}
		if narrow := g.narrow(width, blocks, l.colour); narrow != nil {
			return narrow
		}
		tiny := g.tiny(width, blocks, l.colour)
		if tiny != nil {
			lines[0] = text.Snip("· to come + ok "+strings.NewReplacer(",", "", "own-", "").Replace(legend), width, "…")
		}
		return tiny
	})
	if narrow == nil {
		return nil
	}
	return l.windowed(narrow, lines, height)
}

// windowed draws the lines above a grid and as many of its scenarios as there is room for, the same in each block. It
// draws nothing if these are too few.
func (l *live) windowed(n *narrowGrid, lines []string, height int) []string {
	var heads [][]string
	room := height - len(lines)
	for _, block := range n.blocks {
		heads = append(heads, n.heads(block))
		room -= len(heads[len(heads)-1])
	}
	from, to := l.window(n, room/len(n.blocks))
	if to-from < min(leastRows, len(n.scenarios)) {
		return nil
	}
	if to-from < len(n.scenarios) {
		shown := text.Trim(fmt.Sprintf("%d–%d of %d", from+1, to, len(n.scenarios)), n.names)
		heads[0][0] = shown + strings.TrimPrefix(heads[0][0], strings.Repeat(" ", len([]rune(shown))))
	}
	for i, block := range n.blocks {
		lines = slices.Concat(lines, heads[i], n.rows(block, from, to))
	}
	return lines
}

// window returns which scenarios are shown where there is room for so many lines: those under way, below some that are
// finished.
func (l *live) window(n *narrowGrid, room int) (from, to int) {
	first := slices.IndexFunc(n.scenarios, l.toCome)
	if first < 0 {
		first = len(n.scenarios)
	}
	from, to = first, first
	taken := 0
	take := func(scenario, room int) bool {
		if scenario < 0 || scenario == len(n.scenarios) || taken+len(n.name(scenario)) > room {
			return false
		}
		taken += len(n.name(scenario))
		return true
	}
	for take(from-1, room/3) {
		from--
	}
	for take(to, room) {
		to++
	}
	for take(from-1, room) {
		from--
	}
	return from, to
}

// toCome reports whether a cell of the scenario is to come.
func (l *live) toCome(scenario string) bool {
	return slices.ContainsFunc(l.places, func(p place) bool { return p.scenario == scenario && l.rows[p] == nil })
}
