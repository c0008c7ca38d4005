package terminal

import (
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"stockapi/loadtest/catalog"
)

// A place is the position of a cell in the grid.
type place struct{ scenario, rung string }

// A grid has one line per scenario and one narrow column per rung.
type grid struct {
	scenarios []string
	columns   []gridColumn
}

// A gridColumn is a rung with an entry per scenario.
type gridColumn struct {
	rung, head string
	entries    []entry
	width      int
}

// minWidth is the least width of a column; most columns have it.
const minWidth = 3

// newGrid returns a grid of all scenarios and rungs of the places.
func newGrid(places []place, at func(place) entry) *grid {
	g := &grid{}
	var rungs []string
	for _, p := range places {
		if !slices.Contains(g.scenarios, p.scenario) {
			g.scenarios = append(g.scenarios, p.scenario)
		}
		if !slices.Contains(rungs, p.rung) {
			rungs = append(rungs, p.rung)
		}
	}
	slices.SortStableFunc(rungs, func(a, b string) int { return height(a) - height(b) })
	for _, r := range rungs {
		// Long numbers are hyphenated words; a heading of several lines keeps the column narrow.
		c := gridColumn{rung: r, head: strings.ReplaceAll(r, "-", "-\n")}
		c.width = max(minWidth, text.LongestLineLen(c.head))
		for _, s := range g.scenarios {
			e := at(place{s, r})
			c.entries = append(c.entries, e)
			c.width = max(c.width, widest(e.lines()), len(e.foreseen))
		}
		g.columns = append(g.columns, c)
	}
	return g
}

// height returns the position of a rung on the ladder; unknown rungs come last.
func height(rung string) int {
	i := slices.IndexFunc(catalog.Rungs, func(r catalog.Rung) bool { return r.Number == rung })
	if i < 0 {
		return len(catalog.Rungs)
	}
	return i
}

// blocks draws the grid within a width, if possible: columns that do not fit go into further blocks.
func (g *grid) blocks(width int, colour bool) [][]string {
	var out [][]string
	for _, columns := range g.split(width - g.nameWidth() - 1) {
		out = append(out, g.draw(columns, colour))
	}
	return out
}

func (g *grid) nameWidth() int { return widest(g.scenarios) }

// split distributes the columns over as few blocks as possible, about evenly.
func (g *grid) split(room int) [][]gridColumn {
	blocks := g.fill(room)
	for len(blocks) > 1 && len(blocks) < len(g.columns) {
		room--
		narrower := g.fill(room)
		if len(narrower) > len(blocks) {
			break
		}
		blocks = narrower
	}
	return blocks
}

// fill fills block after block with columns, each followed by a space.
func (g *grid) fill(room int) [][]gridColumn {
	var blocks [][]gridColumn
	left := 0
	for i, c := range g.columns {
		if left -= c.width + 1; i == 0 || left < 0 {
			blocks, left = append(blocks, nil), room-c.width-1
		}
		last := len(blocks) - 1
		blocks[last] = append(blocks[last], c)
	}
	return blocks
}

func (g *grid) draw(columns []gridColumn, colour bool) []string {
	t := table.NewWriter()
	t.SetStyle(style())
	head := table.Row{""}
	var configs []table.ColumnConfig
	for i, c := range columns {
		head = append(head, c.head)
		configs = append(configs, table.ColumnConfig{Number: i + 2, WidthMin: c.width})
	}
	t.AppendHeader(head)
	t.SetColumnConfigs(configs)
	for i, name := range g.scenarios {
		line := table.Row{name}
		for _, c := range columns {
			line = append(line, c.entries[i].in(colour))
		}
		t.AppendRow(line)
	}
	return rendered(t)
}
