package report

import (
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"stockapi/loadtest/catalog"
)

// place is where a cell stands in the grid.
type place struct{ scenario, rung string }

// grid is one line per scenario and one narrow column per rung.
type grid struct {
	scenarios []string
	columns   []gridColumn
}

// gridColumn is a rung with an entry per scenario.
type gridColumn struct {
	head    string
	entries []entry
	width   int
}

// minWidth is that of a column, so that most columns are of one width.
const minWidth = 3

// newGrid makes a grid of all scenarios and rungs that the places name.
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
		// The long numbers are hyphenated words, which a heading of several lines keeps narrow.
		c := gridColumn{head: strings.ReplaceAll(r, "-", "-\n")}
		c.width = max(minWidth, text.LongestLineLen(c.head))
		for _, s := range g.scenarios {
			e := at(place{s, r})
			c.entries = append(c.entries, e)
			c.width = max(c.width, text.LongestLineLen(e.text))
		}
		g.columns = append(g.columns, c)
	}
	return g
}

// height is where a rung stands on the ladder; what this ladder does not know stands above it.
func height(rung string) int {
	i := slices.IndexFunc(catalog.Rungs, func(r catalog.Rung) bool { return r.Number == rung })
	if i < 0 {
		return len(catalog.Rungs)
	}
	return i
}

// blocks draws the grid, at most so wide if any width can be: columns that do not fit go into a block of their own.
func (g *grid) blocks(width int, colour bool) [][]string {
	var out [][]string
	for _, columns := range g.split(width - g.nameWidth() - 1) {
		out = append(out, g.draw(columns, colour))
	}
	return out
}

func (g *grid) nameWidth() int {
	return text.LongestLineLen(strings.Join(g.scenarios, "\n"))
}

// split shares out the columns to as few blocks as there is room for, and to those about evenly.
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
	lines := strings.Split(strings.TrimRight(t.Render(), "\n"), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return lines
}
