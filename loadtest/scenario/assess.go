package scenario

import (
	"fmt"

	"stockapi/loadtest/history"
)

// Row is all repetitions of one scenario × rung, with what the table expects of them.
type Row struct {
	Scenario, Rung, Name string
	Cells                []*history.Cell
	// Met is how many of the cells that were run are as expected.
	Met int
	// Surprises are the differences, in either direction: a fault that was predicted to show and did not is one.
	Surprises []string
}

// Assess sorts the cells into rows, in the order in which they come, and compares their findings with the table.
func Assess(cells []*history.Cell) []*Row {
	var rows []*Row
	byName := map[[2]string]*Row{}
	for _, c := range cells {
		name := [2]string{c.Scenario, c.Rung}
		if byName[name] == nil {
			byName[name] = &Row{Scenario: c.Scenario, Rung: c.Rung, Name: c.Name}
			rows = append(rows, byName[name])
		}
		byName[name].add(c)
	}
	return rows
}

func (r *Row) add(c *history.Cell) {
	r.Cells = append(r.Cells, c)
	if c.NotRun != "" {
		return
	}
	surprises := Surprises(c)
	if len(surprises) == 0 {
		r.Met++
	}
	r.Surprises = append(r.Surprises, surprises...)
}

// Surprises says, one line each, where the findings of a cell differ from what the table expects.
func Surprises(c *history.Cell) []string {
	title := c.Title()
	if c.Repetition > 1 {
		title += fmt.Sprintf(" (repetition %d)", c.Repetition)
	}
	e, known := Expected(c.Scenario, c.Rung)
	if !known {
		return []string{title + ": the table expects nothing of this cell"}
	}
	var out []string
	if c.CutShort != "" {
		out = append(out, title+": could not be played to its end: "+c.CutShort)
	}
	for _, v := range history.Verdicts {
		want, f := e.Verdicts.Of(v), c.Finding(v)
		if want == f.Result {
			continue
		}
		line := fmt.Sprintf("%s: %s was expected to be %s and is %s", title, v, want, f.Result)
		if f.Because != "" {
			line += ": " + f.Because
		}
		out = append(out, line)
	}
	return out
}

// Ran is how many of the row's cells were run at all.
func (r *Row) Ran() int {
	n := 0
	for _, c := range r.Cells {
		if c.NotRun == "" {
			n++
		}
	}
	return n
}

// Shown is the cell that stands for the row: the first that is not as expected, else the first.
func (r *Row) Shown() *history.Cell {
	for _, c := range r.Cells {
		if c.NotRun == "" && len(Surprises(c)) > 0 {
			return c
		}
	}
	return r.Cells[0]
}
