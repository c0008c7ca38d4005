package html

import (
	"fmt"
	"slices"
	"strings"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/history"
)

// matrix has a line per scenario and a column per rung. All of it fits on one screen, so a cell has room for one word.
type matrix struct {
	Rungs []string // number and name
	Lines []matrixLine
}

type matrixLine struct {
	ID, Name, Does string
	Cells          []matrixCell
}

// matrixCell is empty, without a link, if the scenario does not apply to the rung.
type matrixCell struct {
	Link, Title string
	sign
	Surprise bool
}

func newMatrix(groups []*group, rows []*catalog.Row) matrix {
	rungs, m := rungsOf(rows), matrix{}
	for _, r := range rungs {
		m.Rungs = append(m.Rungs, rungName(r.Number, r.Name))
	}
	for _, g := range groups {
		line := matrixLine{ID: g.ID, Name: g.Name, Does: g.Does, Cells: make([]matrixCell, len(rungs))}
		for _, s := range g.Sections {
			column := slices.IndexFunc(rungs, func(r catalog.Rung) bool { return r.Number == s.row.Rung })
			line.Cells[column] = newMatrixCell(s)
		}
		m.Lines = append(m.Lines, line)
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

func newMatrixCell(s *section) matrixCell {
	shown := s.row.Shown()
	cell := matrixCell{Link: s.ID, sign: signOf(shown), Surprise: len(s.row.Surprises) > 0}
	said := []string{s.Title + ": " + s.Word}
	if worst := history.Worst(shown.Findings); shown.NotRun == "" && worst != history.OK {
		var verdicts []string
		for _, f := range shown.Findings {
			if f.Result == worst {
				verdicts = append(verdicts, string(f.Verdict))
			}
		}
		said = append(said, strings.Join(verdicts, ", "))
	}
	if cell.Surprise {
		said = append(said, "surprise")
	}
	if len(s.row.Cells) > 1 {
		said = append(said, fmt.Sprintf("as expected %d of %d times", s.row.Met, s.row.Ran()))
	}
	cell.Title = strings.Join(said, "; ")
	return cell
}

// A sign shows at a glance what came of a cell: a word, and a class for its colour and mark.
type sign struct{ Word, Class, Means string }

var (
	stockSign = sign{"stock", "broken " + stockBroken.class, "units were sold twice, or the books do not balance"}
	lockSign  = sign{"lock", "broken " + lockBroken.class, "the lock is broken, the stock is right"}
	stuckSign = sign{"stuck", "broken " + stuck.class, "nothing is sold wrongly, but a fresh request does not get through"}
	orderSign = sign{"order", "broken " + unfair.class, "the lock holds, but waiters get it out of turn"}
	herdSign  = sign{"herd", "broken " + unfair.class, "the lock holds, but a release wakes all waiters"}
	okSign    = sign{"ok", "ok", "no violation was found"}
	doubtSign = sign{"?", "unknown", "unknown: nothing is proved either way"}
	voidSign  = sign{"invalid", "invalid", "a measurement of the client or of the machine, and not of the lock"}
	noneSign  = sign{"–", "none", "not run"}
	otherSign = sign{"broken", "broken stock-broken", "another verdict is broken"} // in a file that is forged
)

// signs lists all of them, the worst first.
var signs = []sign{
	stockSign, otherSign, lockSign, stuckSign, orderSign, herdSign, voidSign, doubtSign, okSign, noneSign,
}

// signOf returns the sign of what is worst in a cell.
func signOf(c *history.Cell) sign {
	if c.NotRun != "" {
		return noneSign
	}
	switch history.Worst(c.Findings) {
	case history.OK:
		return okSign
	case history.Indeterminate:
		return doubtSign
	case history.Invalid:
		return voidSign
	case history.Broken:
		if worst, ok := worstOf(c); ok {
			return worst.sign
		}
		return otherSign
	case history.NotApplicable:
	}
	return noneSign // also for a result that a forged file invents
}

// signsIn lists the signs that the cells have, the worst first.
func signsIn(groups []*group) []sign {
	seen := map[sign]bool{}
	for _, g := range groups {
		for _, s := range g.Sections {
			seen[signOf(s.row.Shown())] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(signs), func(s sign) bool { return !seen[s] })
}

// word returns a cell's worst result in words.
func word(c *history.Cell) string {
	switch s := signOf(c); {
	case c.NotRun != "":
		return "not run"
	case s == stuckSign:
		return s.Word
	case history.Worst(c.Findings) == history.Broken:
		return strings.TrimPrefix(s.Word+" broken", "broken ")
	}
	return string(history.Worst(c.Findings))
}

// classOf returns the class of a result's colour.
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
	s, _ := catalog.Find(name)
	return s.Does
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
