package terminal

import (
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"
)

// A narrowGrid is a grid with columns so narrow that a long ladder fits on a screen. Its heads are rungs without their
// v, broken into two lines or written downwards. Columns that have no room beside the others are in further blocks
// below them. Each block has heads of its own and all scenarios.
type narrowGrid struct {
	scenarios []string
	blocks    [][]narrowColumn
	names     int // the width of the scenarios' names, the same in each block
}

type narrowColumn struct {
	head   []string
	cells  []string
	colour func(row int, text string) string
	width  int
}

// leastName is the least width that is left for the names of scenarios. Longer names are broken at their hyphens, which
// takes a line each. A further block takes as many lines as there are scenarios.
const leastName = 14

// narrow returns the grid in that many blocks, with columns of three characters, two letters and a mark, unless a cell
// has more letters. It is nil if they do not fit.
func (g *grid) narrow(width, blocks int, colour bool) *narrowGrid {
	return g.narrowed(width, blocks, colour, entry.short, 3, func(rung string) []string {
		number, rest := numberOf(rung)
		return []string{number, text.Trim(rest, 2)}
	})
}

// tiny returns the grid in that many blocks, with columns of two characters, a letter and a space, or nil if they do
// not fit. Rungs are written downwards.
func (g *grid) tiny(width, blocks int, colour bool) *narrowGrid {
	return g.narrowed(width, blocks, colour, entry.tiny, 2, func(rung string) []string {
		number, rest := numberOf(rung)
		var head []string
		for _, r := range strings.Repeat(" ", max(0, 2-len(number))) + number + text.Trim(rest, 2) {
			head = append(head, strings.TrimSpace(string(r)))
		}
		return head
	})
}

// inFewestBlocks returns the first grid that is not nil: in one block, in two and so on. It is nil if a single column
// does not fit.
func (g *grid) inFewestBlocks(draw func(blocks int) *narrowGrid) *narrowGrid {
	for blocks := 1; blocks <= len(g.columns); blocks++ {
		if n := draw(blocks); n != nil {
			return n
		}
	}
	return nil
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

// headKey explains the heads by the first rung whose head does not say all: "5 as: v5-as-printed; ". It is empty if
// there is none.
func (g *grid) headKey() string {
	for _, c := range g.columns {
		if number, rest := numberOf(c.rung); len(rest) > 2 {
			return number + " " + text.Trim(rest, 2) + ": " + c.rung + "; "
		}
	}
	return ""
}

// narrowed returns the grid with its columns distributed evenly over so many blocks, or nil if it does not fit.
func (g *grid) narrowed(
	width, blocks int, colour bool, cell func(entry) string, least int, head func(rung string) []string,
) *narrowGrid {
	n := &narrowGrid{scenarios: g.scenarios, names: g.nameWidth()}
	for columns := range slices.Chunk(g.columns, (len(g.columns)+blocks-1)/blocks) {
		var block []narrowColumn
		taken := 0
		for _, c := range columns {
			col := narrowColumn{head: head(c.rung), width: least}
			for _, e := range c.entries {
				text := cell(e)
				col.cells = append(col.cells, text)
				col.width = max(col.width, needed(text, e.mark != ""), needed(cell(entry{text: e.foreseen}), false))
			}
			col.colour = func(row int, text string) string { return c.entries[row].painted(text, colour) }
			block = append(block, col)
			taken += col.width
		}
		n.blocks = append(n.blocks, block)
		n.names = min(n.names, width-taken-1)
	}
	if n.names < min(g.nameWidth(), leastName) {
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

// heads returns the lines above a block.
func (n *narrowGrid) heads(block []narrowColumn) []string {
	var lines []string
	for i := 0; ; i++ {
		var line strings.Builder
		line.WriteString(strings.Repeat(" ", n.names+1))
		some := false
		for _, c := range block {
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

// rows draws, in a block, the scenarios from one number to before another. The cells are beside the first line of a
// name.
func (n *narrowGrid) rows(block []narrowColumn, from, to int) []string {
	var lines []string
	for i := from; i < to; i++ {
		name := n.name(i)
		var line strings.Builder
		line.WriteString(text.Pad(name[0], n.names+1, ' '))
		for _, c := range block {
			line.WriteString(c.colour(i, c.cells[i]) + strings.Repeat(" ", max(0, c.width-len([]rune(c.cells[i])))))
		}
		lines = append(append(lines, strings.TrimRight(line.String(), " ")), name[1:]...)
	}
	return lines
}

// name returns the lines of a scenario's name.
func (n *narrowGrid) name(scenario int) []string { return broken(n.scenarios[scenario], n.names) }

// broken breaks a name after hyphens, into lines of that width at most. Lines after the first one are indented. A word
// that is wider itself is broken too.
func broken(name string, width int) []string {
	const indent = "  "
	lines := []string{""}
	for _, word := range strings.SplitAfter(name, "-") {
		last := len(lines) - 1
		if len(lines[last]+word) > width && strings.TrimSpace(lines[last]) != "" {
			lines, last = append(lines, indent), last+1
		}
		for lines[last] += word; len(lines[last]) > width; last++ {
			lines = append(lines, indent+lines[last][width:])
			lines[last] = lines[last][:width]
		}
	}
	return lines
}
