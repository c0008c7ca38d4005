package terminal

import (
	"slices"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/history"
	"stockapi/loadtest/plain"
)

// Here the words of others enter what is printed: names and texts of a service, and of a file that somebody else made.
// What this package prints of rows and cells, it prints of these copies.

// plainRows returns copies of the rows whose texts are plain.
func plainRows(rows []*catalog.Row) []*catalog.Row {
	var out []*catalog.Row
	for _, r := range rows {
		p := *r
		p.Scenario, p.Rung, p.Name = plain.Text(r.Scenario), plain.Text(r.Rung), plain.Text(r.Name)
		p.Surprises, p.Unknown, p.Invalid = plain.Texts(r.Surprises), plain.Texts(r.Unknown), plain.Texts(r.Invalid)
		p.Cells = nil
		for _, c := range r.Cells {
			p.Cells = append(p.Cells, plainCell(c))
		}
		out = append(out, &p)
	}
	return out
}

// plainCell returns a copy of the cell whose texts are plain, but for its ops and evidence, which are not printed.
func plainCell(c *history.Cell) *history.Cell {
	p := *c
	p.Scenario, p.Rung, p.Name = plain.Text(c.Scenario), plain.Text(c.Rung), plain.Text(c.Name)
	p.NotRun, p.Aborted = plain.Text(c.NotRun), plain.Text(c.Aborted)
	p.Findings = slices.Clone(c.Findings)
	for i := range p.Findings {
		p.Findings[i].Because = plain.Text(p.Findings[i].Because)
	}
	return &p
}
