package html

import (
	"fmt"
	"slices"
	"strings"

	"stockapi/loadtest/history"
	"stockapi/loadtest/scenario"
)

// matrix has a line per scenario and a column per rung: there are about as many of either, and the rungs' numbers
// are the shorter heads.
type matrix struct {
	Rungs []scenario.Rung
	Lines []matrixLine
}

type matrixLine struct {
	Name, Does string
	Cells      []matrixCell
}

// matrixCell is empty, without a link, where the scenario does not apply to the rung.
type matrixCell struct {
	Link, Rung, Word, Class, Times string
	Verdicts                       []history.Verdict
	Surprise                       bool
}

func newMatrix(rows []*scenario.Row, links []string) matrix {
	m := matrix{Rungs: rungsOf(rows)}
	for i, r := range rows {
		at := slices.IndexFunc(m.Lines, func(l matrixLine) bool { return l.Name == r.Scenario })
		if at < 0 {
			at = len(m.Lines)
			m.Lines = append(m.Lines, matrixLine{Name: r.Scenario, Does: does(r.Scenario), Cells: make([]matrixCell, len(m.Rungs))})
		}
		column := slices.IndexFunc(m.Rungs, func(g scenario.Rung) bool { return g.Number == r.Rung })
		m.Lines[at].Cells[column] = newMatrixCell(r, links[i])
	}
	return m
}

// rungsOf lists the rungs that the rows have, in the ladder's order; one that the ladder does not know comes last.
func rungsOf(rows []*scenario.Row) []scenario.Rung {
	var known, unknown []scenario.Rung
	for _, g := range scenario.Rungs {
		if slices.ContainsFunc(rows, func(r *scenario.Row) bool { return r.Rung == g.Number }) {
			known = append(known, g)
		}
	}
	for _, r := range rows {
		is := func(g scenario.Rung) bool { return g.Number == r.Rung }
		if !slices.ContainsFunc(known, is) && !slices.ContainsFunc(unknown, is) {
			unknown = append(unknown, scenario.Rung{Number: r.Rung, Name: r.Name})
		}
	}
	return append(known, unknown...)
}

func newMatrixCell(r *scenario.Row, link string) matrixCell {
	shown := r.Shown()
	cell := matrixCell{Link: link, Rung: r.Rung, Surprise: len(r.Surprises) > 0}
	cell.Word, cell.Class = word(shown)
	for _, f := range shown.Findings {
		if f.Result == history.Worst(shown.Findings) && cell.Class != "ok" && cell.Class != "none" {
			cell.Verdicts = append(cell.Verdicts, f.Verdict)
		}
	}
	if len(r.Cells) > 1 {
		cell.Times = fmt.Sprintf("%d of %d", r.Met, r.Ran())
	}
	return cell
}

// word is what became of a cell, and the class it is coloured by.
func word(c *history.Cell) (word, class string) {
	if c.NotRun != "" {
		return "not run", "none"
	}
	worst := history.Worst(c.Findings)
	return string(worst), classOf(worst)
}

func classOf(r history.Result) string {
	switch r {
	case history.OK:
		return "ok"
	case history.Broken:
		return "broken"
	case history.Indeterminate:
		return "unknown"
	case history.Invalid:
		return "invalid"
	case history.NotApplicable:
	}
	return "none" // and what a forged file may say
}

func does(name string) string {
	for _, s := range scenario.Table {
		if s.Name == name {
			return s.Does
		}
	}
	return ""
}

// Names gives each row a name for links and files, such as "two-instances-v0.5". What a forged file puts there is
// reduced to harmless letters, and made unique.
func Names(rows []*scenario.Row) []string {
	seen := map[string]bool{}
	var links []string
	for i, r := range rows {
		link := strings.Map(harmless, clip(r.Scenario+"-"+r.Rung, 80))
		if seen[link] || link == "" {
			link = fmt.Sprintf("%s-%d", link, i+1)
		}
		seen[link] = true
		links = append(links, link)
	}
	return links
}

func harmless(r rune) rune {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '.':
		return r
	default:
		return '_'
	}
}
