package html

import (
	"fmt"
	"slices"
	"strings"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/history"
)

// matrix has a line per scenario and a column per rung, because the numbers of rungs are the shorter headings.
type matrix struct {
	Rungs []catalog.Rung
	Lines []matrixLine
}

type matrixLine struct {
	Name, Does string
	Cells      []matrixCell
}

// matrixCell is empty, without a link, if the scenario does not apply to the rung.
type matrixCell struct {
	Link, Rung, Word, Class, Times string
	Verdicts                       []history.Verdict
	Surprise                       bool
}

func newMatrix(rows []*catalog.Row, links []string) matrix {
	m := matrix{Rungs: rungsOf(rows)}
	for i, r := range rows {
		at := slices.IndexFunc(m.Lines, func(l matrixLine) bool { return l.Name == r.Scenario })
		if at < 0 {
			at = len(m.Lines)
			line := matrixLine{Name: r.Scenario, Does: doesOf(r.Scenario), Cells: make([]matrixCell, len(m.Rungs))}
			m.Lines = append(m.Lines, line)
		}
		column := slices.IndexFunc(m.Rungs, func(g catalog.Rung) bool { return g.Number == r.Rung })
		m.Lines[at].Cells[column] = newMatrixCell(r, links[i])
	}
	return m
}

// rungsOf lists the rungs that the rows have, in the ladder's order; one that the ladder does not know comes last.
func rungsOf(rows []*catalog.Row) []catalog.Rung {
	var known, unknown []catalog.Rung
	for _, g := range catalog.Rungs {
		if slices.ContainsFunc(rows, func(r *catalog.Row) bool { return r.Rung == g.Number }) {
			known = append(known, g)
		}
	}
	for _, r := range rows {
		is := func(g catalog.Rung) bool { return g.Number == r.Rung }
		if !slices.ContainsFunc(known, is) && !slices.ContainsFunc(unknown, is) {
			unknown = append(unknown, catalog.Rung{Number: r.Rung, Name: r.Name})
		}
	}
	return append(known, unknown...)
}

func newMatrixCell(r *catalog.Row, link string) matrixCell {
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

// word returns a cell's worst result, and the class of its colour.
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
	return "none" // also for a result that a forged file invents
}

// doesOf returns the sentence about a scenario, empty if it is not known.
func doesOf(name string) string {
	for _, s := range catalog.Table {
		if s.Name == name {
			return s.Does
		}
	}
	return ""
}

// Names returns a unique name of each row for links and files, such as "two-instances-v0.5". It replaces characters
// that are not safe there, as a forged file may have them.
func Names(rows []*catalog.Row) []string {
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
