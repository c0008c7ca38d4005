package catalog

import (
	"fmt"

	"stockapi/loadtest/history"
)

// A Row holds all repetitions of one scenario × rung, compared with what the table expects of them.
type Row struct {
	Scenario, Rung, Name string
	Cells                []*history.Cell
	// Met counts the cells that were run and are as expected.
	Met int
	// Surprises are the differences, in either direction: one may be a fault that should have shown and did not.
	Surprises []string
	// Unknown says which verdicts of valid cells nobody can tell. They are neither as expected nor a surprise.
	Unknown []string
	// Invalid says why cells are no measurement of the rung. Such a cell is neither as expected nor a surprise.
	Invalid []string
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
	if why := Invalid(c); why != "" {
		r.Invalid = append(r.Invalid, why)
		return
	}
	surprises, unknown := Surprises(c), Unknown(c)
	if len(surprises)+len(unknown) == 0 {
		r.Met++
	}
	r.Surprises, r.Unknown = append(r.Surprises, surprises...), append(r.Unknown, unknown...)
}

// Surprises says, one line each, where the findings of a cell differ from what the table expects. A cell that is no
// measurement of its rung has none, and a verdict that nobody can tell is none: see [Unknown].
func Surprises(c *history.Cell) []string { return told(c, false) }

// Unknown says, one line each, which verdicts of a cell nobody can tell although the table expects a result. A cell
// that is no measurement of its rung has none.
func Unknown(c *history.Cell) []string { return told(c, true) }

func told(c *history.Cell, unknown bool) (out []string) {
	if Invalid(c) != "" {
		return nil
	}
	for _, d := range differences(c) {
		if d.unknown == unknown {
			out = append(out, title(c)+": "+d.text)
		}
	}
	return out
}

// A difference lies between what is expected of a cell and what was found.
type difference struct {
	text string
	// excusable reports whether a machine that was too slow can be the reason, and unknown whether nothing was found.
	excusable, unknown bool
}

// differences returns all differences of a cell, whether it is valid or not.
func differences(c *history.Cell) []difference {
	e, known := Expected(c.Scenario, c.Rung)
	if c.IsReplay() {
		return unbroken(c)
	}
	if !known {
		return []difference{{text: "the table expects nothing of this cell"}}
	}
	var out []difference
	if c.Aborted != "" {
		out = append(out, difference{text: "could not be played to its end: " + c.Aborted, excusable: true})
	}
	for _, v := range history.Verdicts {
		want, f := e.Results[v], c.Finding(v)
		if want == f.Result {
			continue
		}
		text := fmt.Sprintf("%s was expected to be %s and is %s", v, want, f.Result)
		if f.Because != "" {
			text += ": " + f.Because
		}
		out = append(out, difference{text, !notAsked(f) && byTheClock(c, v, f.Result), unknown(f)})
	}
	return out
}

// unknown reports whether a finding leaves its question open.
func unknown(f history.Finding) bool { return f.Result == history.Indeterminate || notAsked(f) }

// notAsked reports whether a question applies to the rung, and was not asked for a reason that lies in the cell.
func notAsked(f history.Finding) bool { return f.Result == history.NotApplicable && f.Because != "" }

// unbroken returns what the replay of a trace was to break and did not. What else it breaks is no surprise: after the
// last step of the trace its orders end as they may.
func unbroken(c *history.Cell) (out []difference) {
	for _, v := range c.Breaks {
		if f := c.Finding(v); f.Result != history.Broken {
			out = append(out, difference{
				text:    fmt.Sprintf("%s was expected to be %s and is %s", v, history.Broken, f.Result),
				unknown: unknown(f),
			})
		}
	}
	return out
}

// title names a cell, with its repetition where there are several.
func title(c *history.Cell) string {
	if c.Repetition > 1 {
		return fmt.Sprintf("%s (repetition %d)", c.Title(), c.Repetition)
	}
	return c.Title()
}

// Ran returns how many of the row's cells were run at all.
func (r *Row) Ran() int {
	n := 0
	for _, c := range r.Cells {
		if c.NotRun == "" {
			n++
		}
	}
	return n
}

// Shown returns the cell that stands for the row: the first that is a surprise, or else was not measured, else the
// first.
func (r *Row) Shown() *history.Cell {
	shown := r.Cells[0]
	for _, c := range r.Cells {
		switch {
		case c.NotRun != "":
		case len(Surprises(c)) > 0:
			return c
		case !measured(c) && measured(shown):
			shown = c
		}
	}
	return shown
}

func measured(c *history.Cell) bool { return Invalid(c) == "" && len(Unknown(c)) == 0 }

// AllMeasured reports whether all cells that were run are valid, and none of their verdicts is unknown.
func AllMeasured(rows []*Row) bool {
	for _, r := range rows {
		if len(r.Invalid)+len(r.Unknown) > 0 {
			return false
		}
	}
	return true
}
