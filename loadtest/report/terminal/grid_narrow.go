package terminal

import (
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"
)

// A narrowGrid is a grid with columns so narrow that the whole ladder fits on a screen. Its heads are rungs without
// their v, broken into two lines or written downwards.
type narrowGrid struct {
	grid    *grid
	columns []narrowColumn
	names   int // the width of the scenarios' names
}

type narrowColumn struct {
	head   []string
	cells  []string
	colour func(row int, text string) string
	width  int
}

// leastName is the width below which names of scenarios are not cut off at their ends: all of them still differ.
const leastName = 14

// tinyName is the width below which they are not cut at all. Down to it they are cut in the middle.
const tinyName = 12

// readableName is the width below which names of scenarios are not cut off as long as there is another way.
const readableName = 18

// narrow returns the grid with columns of three characters, two letters and a mark, unless a cell has more letters. It
// is nil if they do not fit beside names of that width.
func (g *grid) narrow(width, names int, colour bool) *narrowGrid {
	return g.narrowed(width, names, colour, entry.short, 3, func(rung string) []string {
		number, rest := numberOf(rung)
		return []string{number, text.Trim(rest, 2)}
	})
}

// narrowBlocks returns the grid as narrow as that, in as few blocks as possible; none if a column is too wide.
func (g *grid) narrowBlocks(width int, colour bool) []*narrowGrid {
	for n := 1; n <= len(g.columns); n++ {
		var blocks []*narrowGrid
		for columns := range slices.Chunk(g.columns, (len(g.columns)+n-1)/n) {
			block := (&grid{g.scenarios, columns}).narrow(width, readableName, colour)
			if block == nil {
				break
			}
			blocks = append(blocks, block)
		}
		if len(blocks) == n {
			return blocks
		}
	}
	return nil
}

// tiny returns the grid with columns of two characters, a letter and a space, or nil if they do not fit. Rungs are
// written downwards.
func (g *grid) tiny(width int, colour bool) *narrowGrid {
	return g.narrowed(width, tinyName, colour, entry.tiny, 2, func(rung string) []string {
		number, rest := numberOf(rung)
		var head []string
		for _, r := range strings.Repeat(" ", max(0, 2-len(number))) + number + text.Trim(rest, 2) {
			head = append(head, strings.TrimSpace(string(r)))
		}
		return head
	})
}

// numberOf splits a rung into its number without a v and what follows it: "v5.5" into "5" and ".5", "v5-as-printed"
// into "5" and "as-printed".
func numberOf(rung string) (number, rest string) {
	rung = strings.TrimPrefix(rung, "v")
	if i := strings.IndexAny(rung, ".-"); i > 0 {
		return rung[:i], strings.TrimPrefix(rung[i:], "-")
	}
	return rung, ""
}

// narrowed returns the grid, with names cut off where they need too much of the width, or nil if it does not fit.
func (g *grid) narrowed(
	width, names int, colour bool, cell func(entry) string, least int, head func(rung string) []string,
) *narrowGrid {
	n := &narrowGrid{grid: g}
	taken := 0
	for _, c := range g.columns {
		col := narrowColumn{head: head(c.rung), width: least}
		for _, e := range c.entries {
			text := cell(e)
			col.cells = append(col.cells, text)
			col.width = max(col.width, needed(text, e.mark != ""), needed(cell(entry{text: e.foreseen}), false))
		}
		col.colour = func(row int, text string) string { return c.entries[row].painted(text, colour) }
		n.columns = append(n.columns, col)
		taken += col.width
	}
	n.names = min(g.nameWidth(), width-taken-1)
	if n.names < min(g.nameWidth(), names) {
		return nil
	}
	return n
}

// needed returns the width of a cell, with a space after it unless it ends with a mark.
func needed(cell string, marked bool) int {
	width := len([]rune(cell))
	if !marked {
		width++
	}
	return width
}

// heads returns the lines above the grid.
func (n *narrowGrid) heads() []string {
	var lines []string
	for i := 0; ; i++ {
		var line strings.Builder
		line.WriteString(strings.Repeat(" ", n.names+1))
		some := false
		for _, c := range n.columns {
			part := ""
			if i < len(c.head) {
				part = c.head[i]
				some = some || part != ""
			}
			line.WriteString(text.Pad(part, c.width, ' '))
		}
		switch {
		case some:
			lines = append(lines, strings.TrimRight(line.String(), " "))
		case i >= 4:
			return lines
		}
	}
}

// rows draws the scenarios from one number to before another.
func (n *narrowGrid) rows(from, to int) []string {
	var lines []string
	for i := from; i < to; i++ {
		var line strings.Builder
		line.WriteString(text.Pad(cut(n.grid.scenarios[i], n.names), n.names+1, ' '))
		for _, c := range n.columns {
			line.WriteString(c.colour(i, c.cells[i]) + strings.Repeat(" ", max(0, c.width-len([]rune(c.cells[i])))))
		}
		lines = append(lines, strings.TrimRight(line.String(), " "))
	}
	return lines
}

// cut returns a name in that width: without its end, or in a small width without its middle.
func cut(name string, width int) string {
	if width >= leastName || len(name) <= width {
		return text.Snip(name, width, "…")
	}
	return name[:width/2] + "…" + name[len(name)-(width-1-width/2):]
}

// lines draws the whole grid.
func (n *narrowGrid) lines() []string {
	return slices.Concat(n.heads(), n.rows(0, len(n.grid.scenarios)))
}
