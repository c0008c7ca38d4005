package html

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/history"
	"stockapi/loadtest/report/terminal"
)

// A matrix has a line per scenario and a column per rung. It fits the width of a screen: a cell shows a word if there
// are few columns, else only its mark.
type matrix struct {
	Rungs  []column
	Groups []string // the groups of the ladder that have a column
	Lines  []matrixLine
	Legend string // what the letters stand for
}

// A column is a rung, by number and name, with its group.
type column struct{ Title, Group string }

type matrixLine struct {
	*group
	Cells []matrixCell
}

// A matrixCell is empty and has no link if the scenario does not apply to the rung.
type matrixCell struct {
	Link, Title string
	Letters     string // of the broken verdicts, or the sign's word
	sign
	Surprise bool
}

func newMatrix(groups []*group, rows []*catalog.Row) matrix {
	columns := slices.SortedStableFunc(slices.Values(rows), byHeight)
	columns = slices.CompactFunc(columns, func(a, b *catalog.Row) bool { return a.Rung == b.Rung })
	m := matrix{}
	for _, r := range columns {
		m.Rungs = append(m.Rungs, column{catalog.RungTitle(r.Rung, r.Name), catalog.RungOf(r.Rung).Group()})
	}
	for _, name := range catalog.RungGroups {
		if slices.ContainsFunc(m.Rungs, func(c column) bool { return c.Group == name }) {
			m.Groups = append(m.Groups, name)
		}
	}
	for _, g := range groups {
		line := matrixLine{g, make([]matrixCell, len(columns))}
		for _, s := range g.Sections {
			column := slices.IndexFunc(columns, func(r *catalog.Row) bool { return r.Rung == s.row.Rung })
			line.Cells[column] = newMatrixCell(s)
		}
		m.Lines = append(m.Lines, line)
	}
	var legend []string
	for _, v := range history.Verdicts {
		broken := func(r *catalog.Row) bool { return r.Shown().Finding(v).Result == history.Broken }
		if slices.ContainsFunc(rows, broken) {
			legend = append(legend, terminal.Letters[v]+" "+string(v))
		}
	}
	m.Legend = strings.Join(legend, ", ")
	return m
}

// byHeight compares the rungs of rows by their position on the ladder. Unknown rungs come last.
func byHeight(a, b *catalog.Row) int {
	return cmp.Or(catalog.Height(a.Rung)-catalog.Height(b.Rung), cmp.Compare(a.Rung, b.Rung))
}

func newMatrixCell(s *section) matrixCell {
	shown := s.row.Shown()
	cell := matrixCell{Link: s.ID, sign: s.sign, Surprise: len(s.row.Surprises) > 0,
		Letters: cmp.Or(terminal.LettersOf(shown.Findings, history.Broken), s.Word)}
	said := []string{s.Title + ": " + s.Words}
	for _, f := range shown.Findings {
		if worst := history.Worst(shown.Findings); f.Result == worst && worst != history.OK {
			said = append(said, string(f.Verdict))
		}
	}
	if cell.Surprise {
		said = append(said, "surprise")
	}
	if len(s.row.Cells) > 1 {
		said = append(said, fmt.Sprintf("as expected %d of %d times", s.row.Met, s.row.Ran()))
	}
	cell.Title = strings.Join(said, ", ")
	return cell
}

// names returns a unique link for each row, such as "two-instances-v0.5".
func names(rows []*catalog.Row) []string {
	seen := map[string]bool{}
	var links []string
	for i, r := range rows {
		link := safe(r.Scenario.Name + "-" + r.Rung)
		if seen[link] {
			link = fmt.Sprintf("%s-%d", link, i+1)
		}
		seen[link] = true
		links = append(links, link)
	}
	return links
}

// safe replaces characters that are not safe in links and file names: a forged file may have any.
func safe(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '.':
			return r
		default:
			return '_'
		}
	}, clip(name, 80))
}
