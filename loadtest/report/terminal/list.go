package terminal

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/history"
)

// ListScenarios prints a line on each scenario, and how to list the expectations.
func ListScenarios(w io.Writer, scenarios []catalog.Scenario, width int) {
	p := newList(w, width)
	for _, s := range scenarios {
		p.wrapped("", 2, s.Name+": "+s.Does)
	}
	p.wrapped("\n", 2, "Expectations and reasons: list pause, list v4, list pause v4, or list all.")
}

func newList(w io.Writer, width int) Printer {
	if width == 0 {
		width = math.MaxInt32
	}
	return Printer{Writer: w, Width: width}
}

// List prints the expectations of the rungs in these scenarios and their reasons, wrapped to the width if one is given:
// a line for all rungs of a scenario with the same result for the same reason. The list of one rung in several
// scenarios has no descriptions of these.
func List(w io.Writer, scenarios []catalog.Scenario, width int) {
	p := newList(w, width)
	if rungs := rungsIn(scenarios); len(rungs) == 1 && len(scenarios) > 1 {
		p.listRung(rungs[0], scenarios)
		return
	}
	for _, s := range scenarios {
		p.wrapped("", 0, s.Name+": "+s.Does)
		var texts []string
		rungs := map[string][]string{} // by text
		add := func(rung, text string) {
			if rungs[text] == nil {
				texts = append(texts, text)
			}
			rungs[text] = append(rungs[text], rung)
		}
		for _, e := range s.Expect {
			add(e.Rung, expected(e)+": "+e.Why)
		}
		for _, r := range catalog.Rungs {
			if why := s.NotApplicable[r.Number]; why != "" {
				add(r.Number, "does not apply: "+why)
			}
		}
		for _, text := range texts {
			p.wrapped("  ", 6, titles(rungs[text])+": "+text)
		}
		fmt.Fprintln(p)
	}
}

// titles names rungs: one with its name, three or more in a row as a range.
func titles(rungs []string) string {
	if len(rungs) == 1 {
		return rungs[0] + " " + catalog.NameOf(rungs[0])
	}
	var at []int
	for _, rung := range rungs {
		at = append(at, catalog.Height(rung))
	}
	return strings.Join(ranges(rungs, at), ", ")
}

// rungsIn returns the numbers of the rungs in scenarios.
func rungsIn(scenarios []catalog.Scenario) (numbers []string) {
	for _, r := range catalog.Rungs {
		if slices.ContainsFunc(scenarios, func(s catalog.Scenario) bool {
			_, applies := s.Expected(r.Number)
			return applies || s.NotApplicable[r.Number] != ""
		}) {
			numbers = append(numbers, r.Number)
		}
	}
	return numbers
}

// listRung prints the expectations of one rung in these scenarios: first the scenarios that break it and the reasons,
// then those in which it holds, and the names of those that do not apply.
func (p Printer) listRung(rung string, scenarios []catalog.Scenario) {
	fmt.Fprintln(p, rung+" "+catalog.NameOf(rung))
	var broken, whole, others []string
	for _, s := range scenarios {
		switch e, applies := s.Expected(rung); {
		case !applies:
			others = append(others, s.Name)
		case slices.Contains(slices.Collect(maps.Values(e.Results)), history.Broken):
			broken = append(broken, s.Name+": "+expected(e)+": "+e.Why)
		default:
			whole = append(whole, s.Name+": ok: "+e.Why)
		}
	}
	for _, line := range append(broken, whole...) {
		p.wrapped("  ", 6, line)
	}
	if len(others) > 0 {
		p.wrapped("  ", 6, "does not apply: "+strings.Join(others, ", "))
	}
}

// expected lists the verdicts that should break, and those that should hold.
func expected(e catalog.Expectation) string {
	var parts []string
	for _, result := range []history.Result{history.Broken, history.OK} {
		var names []string
		for _, v := range history.Verdicts {
			if e.Results[v] == result {
				names = append(names, string(v))
			}
		}
		if len(names) > 0 {
			parts = append(parts, strings.Join(names, ", ")+" "+string(result))
		}
	}
	return strings.Join(parts, "; ")
}
