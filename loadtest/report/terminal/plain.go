package terminal

import (
	"slices"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/history"
)

// Here the words of others enter what is printed: names and texts of a service, and of a file that somebody else made.
// What this package prints of rows and cells, it prints of these copies.

// plainRows returns copies of the rows whose texts are plain.
func plainRows(rows []*catalog.Row) []*catalog.Row {
	var out []*catalog.Row
	for _, r := range rows {
		p := *r
		p.Scenario.Name = history.Plain(r.Scenario.Name) // the rest of it is ours
		p.Rung, p.Name = history.Plain(r.Rung), history.Plain(r.Name)
		p.Surprises, p.Unknown, p.Invalid = plainTexts(r.Surprises), plainTexts(r.Unknown), plainTexts(r.Invalid)
		p.Cells = nil
		for _, c := range r.Cells {
			p.Cells = append(p.Cells, plainAssessment(c))
		}
		out = append(out, &p)
	}
	return out
}

func plainTexts(texts []string) []string {
	var out []string
	for _, s := range texts {
		out = append(out, history.Plain(s))
	}
	return out
}

// plainAssessment returns a copy of the assessment whose texts are plain.
func plainAssessment(a *catalog.Assessment) *catalog.Assessment {
	return &catalog.Assessment{Cell: plainCell(a.Cell), Surprises: plainTexts(a.Surprises),
		Unknown: plainTexts(a.Unknown), Invalid: history.Plain(a.Invalid)}
}

// plainCell returns a copy of the cell whose texts are plain, but for its ops and evidence, which are not printed.
func plainCell(c *history.Cell) *history.Cell {
	p := *c
	p.Scenario, p.Rung, p.Name = history.Plain(c.Scenario), history.Plain(c.Rung), history.Plain(c.Name)
	p.NotRun, p.Aborted = history.Plain(c.NotRun), history.Plain(c.Aborted)
	p.Findings = slices.Clone(c.Findings)
	for i := range p.Findings {
		p.Findings[i].Because = history.Plain(p.Findings[i].Because)
	}
	return &p
}
