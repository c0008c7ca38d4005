package terminal

import (
	"fmt"
	"io"
	"math"
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

// List prints the expectations of the rungs in these scenarios and their reasons: a line for each rung, wrapped to the
// width if one is given.
func List(w io.Writer, scenarios []catalog.Scenario, width int) {
	p := newList(w, width)
	line := func(rung, results, why string) {
		p.wrapped("  ", 6, rung+" "+catalog.NameOf(rung)+": "+results+": "+why)
	}
	for _, s := range scenarios {
		p.wrapped("", 0, s.Name+": "+s.Does)
		for _, e := range s.Expect {
			line(e.Rung, expected(e), e.Why)
		}
		for _, r := range catalog.Rungs {
			if why := s.NotApplicable[r.Number]; why != "" {
				line(r.Number, "does not apply", why)
			}
		}
		fmt.Fprintln(p)
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
