package catalog

import (
	"cmp"
	"fmt"

	"stockapi/loadtest/history"
)

// A Row holds all repetitions of one scenario × rung, compared with their expectation.
type Row struct {
	Scenario   Scenario
	Rung, Name string
	Cells      []*Assessment
	// Met counts the cells that were run and are as expected.
	Met int
	// Surprises, Unknown and Invalid are those of the cells that were run.
	Surprises, Unknown, Invalid []string
}

// An Assessment is a cell compared with its expectation.
type Assessment struct {
	*history.Cell
	// Surprises are the differences, in either direction: one may be a violation that should have shown and did not.
	Surprises []string
	// Unknown are the verdicts of a valid cell whose result is unknown although one was expected. They are neither as
	// expected nor a surprise.
	Unknown []string
	// Invalid is why the cell does not measure its rung: the client did not keep up, or the machine was too slow. It does
	// not excuse a proven violation. Such a cell is neither as expected nor a surprise.
	Invalid string
}

// Assess returns the cells in rows, in their order, compared with the table's expectations.
func (t Table) Assess(cells []*history.Cell) []*Row {
	var rows []*Row
	byName := map[[2]string]*Row{}
	for _, c := range cells {
		name := [2]string{c.Heading(), c.Rung}
		if byName[name] == nil {
			byName[name] = &Row{Rung: c.Rung, Name: c.Name, Scenario: Scenario{Name: c.Heading()}}
			if !c.IsUnlisted() {
				byName[name].Scenario, _ = t.Find(c.Scenario)
			}
			rows = append(rows, byName[name])
		}
		byName[name].add(c)
	}
	return rows
}

func (r *Row) add(c *history.Cell) {
	a := r.Scenario.Assess(c)
	r.Cells = append(r.Cells, a)
	switch {
	case c.NotTested != nil:
	case a.Invalid != "":
		r.Invalid = append(r.Invalid, a.Invalid)
	case a.AsExpected():
		r.Met++
	default:
		r.Surprises, r.Unknown = append(r.Surprises, a.Surprises...), append(r.Unknown, a.Unknown...)
	}
}

// Assess compares the cell with the scenario's expectation.
func (s Scenario) Assess(c *history.Cell) *Assessment {
	a := &Assessment{Cell: c, Invalid: s.invalid(c)}
	if a.Invalid != "" {
		return a
	}
	for _, d := range s.differences(c) {
		if d.unknown {
			a.Unknown = append(a.Unknown, title(c)+": "+d.text)
		} else {
			a.Surprises = append(a.Surprises, title(c)+": "+d.text)
		}
	}
	return a
}

// AsExpected reports whether the cell measures its rung and is as expected in all verdicts.
func (a *Assessment) AsExpected() bool {
	return a.Invalid == "" && len(a.Surprises)+len(a.Unknown) == 0
}

// A difference lies between the expectation of a cell and its findings.
type difference struct {
	text string
	// excusable reports whether a slow machine can be the reason, and unknown whether the result is unknown.
	excusable, unknown bool
}

// differences returns all differences of a cell, whether it is valid or not.
func (s Scenario) differences(c *history.Cell) []difference {
	e, known := s.Expected(c.Rung)
	if c.Defect != nil {
		return []difference{{text: "a defect: " + c.Defect.String()}}
	}
	if c.IsUnlisted() {
		return unbroken(c)
	}
	if !known {
		return []difference{{text: "the table has no expectation of this cell"}}
	}
	var out []difference
	if c.Aborted != "" {
		out = append(out, difference{text: "could not be completed: " + c.Aborted, excusable: true})
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
		out = append(out, difference{text, !notJudged(f) && s.byTheClock(c, v, f.Result), unknown(f)})
	}
	return out
}

// unknown reports whether a finding does not decide its verdict.
func unknown(f history.Finding) bool { return f.Result == history.Indeterminate || notJudged(f) }

// notJudged reports whether a verdict applies to the rung, but was not judged for a reason in the cell.
func notJudged(f history.Finding) bool { return f.Result == history.NotApplicable && f.Because != "" }

// unbroken returns the verdicts that the replay of a trace should break and did not. Others that break are no
// surprise: the trace leaves open how its orders end after its last step. A round of a stage differs in how it departed
// from its script.
func unbroken(c *history.Cell) (out []difference) {
	for _, how := range c.Astray {
		out = append(out, difference{text: how})
	}
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

// title names a cell, with its repetition if it is not the first.
func title(c *history.Cell) string {
	if c.Repetition > 1 {
		return fmt.Sprintf("%s (repetition %d)", c.Title(), c.Repetition)
	}
	return c.Title()
}

// Ran returns how many of the row's cells were run.
func (r *Row) Ran() int {
	n := 0
	for _, c := range r.Cells {
		if c.NotTested == nil {
			n++
		}
	}
	return n
}

// Shown returns the cell that represents the row: the first surprise, else the first that was not measured, else the
// first.
func (r *Row) Shown() *Assessment {
	shown := r.Cells[0]
	for _, a := range r.Cells {
		switch {
		case a.NotTested != nil:
		case len(a.Surprises) > 0:
			return a
		case !a.AsExpected() && shown.AsExpected():
			shown = a
		}
	}
	return shown
}

// AllMeasured reports whether all cells that were run are valid, without an unknown verdict.
func AllMeasured(rows []*Row) bool {
	for _, r := range rows {
		if len(r.Invalid)+len(r.Unknown) > 0 {
			return false
		}
	}
	return true
}

// MostInstructive returns the scenario that teaches most about locks: one that some rungs survive, and which breaks the
// locks of more others than any other scenario. It is "" if nothing is broken.
func MostInstructive(rows []*Row) string {
	type count struct{ spares, locks, broken int }
	of, names := map[string]*count{}, []string{}
	for _, r := range rows {
		name, c := r.Scenario.Name, r.Shown()
		n := of[name]
		if n == nil {
			n = &count{}
			of[name], names = n, append(names, name)
		}
		severity := history.SeverityOf(c.Findings)
		if severity == history.Unbroken {
			n.spares = 1
		}
		if severity.Broken() {
			n.broken++
		}
		if c.Finding(history.Exclusion).Result == history.Broken {
			n.locks++
		}
	}
	worst, most := "", count{}
	for _, name := range names {
		n := *of[name]
		more := cmp.Or(n.spares-most.spares, n.locks-most.locks, n.broken-most.broken)
		if n.broken > 0 && (worst == "" || more > 0) {
			worst, most = name, n
		}
	}
	return worst
}
