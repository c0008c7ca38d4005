package terminal

import (
	"fmt"
	"io"
	"strings"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/history"
)

const (
	listedRung   = 32 // columns for a rung's number and name
	listedResult = 11 // columns for a result
	// listedReason is the least width of the column of reasons.
	listedReason = 40
)

// List prints what is expected of the rungs in these scenarios, and why. No line is wider than that, if any width is
// given: then where a table does not fit, each rung has a paragraph.
func List(w io.Writer, scenarios []catalog.Scenario, width int) {
	l := lister{w, width}
	for _, s := range scenarios {
		l.wrapped("", s.Name+": "+s.Does)
		before := 2 + listedRung + len(history.Verdicts)*(1+listedResult) + 1
		if width == 0 || width-before >= listedReason {
			l.table(s)
		} else {
			l.paragraphs(s)
		}
		fmt.Fprintln(w)
	}
}

// lister prints scenarios of the catalogue, lines at most so wide; 0: of any width.
type lister struct {
	io.Writer
	width int
}

// table prints a line for each rung, and a column for each verdict.
func (l lister) table(s catalog.Scenario) {
	line := func(rung string, results []string, why string) {
		var head strings.Builder
		fmt.Fprintf(&head, "  %-*s", listedRung, rung)
		for _, r := range results {
			fmt.Fprintf(&head, " %-*s", listedResult, r)
		}
		l.wrapped(head.String()+" ", why)
	}
	var names []string
	for _, v := range history.Verdicts {
		names = append(names, string(v))
	}
	line("rung", names, "because")
	for _, e := range s.Expect {
		var results []string
		for _, v := range history.Verdicts {
			results = append(results, string(e.Results[v]))
		}
		line(fmt.Sprintf("%-14s %s", e.Rung, catalog.NameOf(e.Rung)), results, e.Why)
	}
	eachSkipped(s, func(r catalog.Rung, why string) {
		line(fmt.Sprintf("%-14s %s", r.Number, r.Name), nil, "does not apply: "+why)
	})
}

// paragraphs prints, for each rung, which verdicts break and which hold, and below it the reason.
func (l lister) paragraphs(s catalog.Scenario) {
	paragraph := func(rung, results, why string) {
		l.wrapped("  ", rung+" "+catalog.NameOf(rung)+": "+results)
		l.wrapped("      ", why)
	}
	for _, e := range s.Expect {
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
		paragraph(e.Rung, strings.Join(parts, "; "), e.Why)
	}
	eachSkipped(s, func(r catalog.Rung, why string) { paragraph(r.Number, "does not apply", why) })
}

// eachSkipped calls do for each rung to which the scenario does not apply, in the ladder's order.
func eachSkipped(s catalog.Scenario, do func(r catalog.Rung, why string)) {
	for _, r := range catalog.Rungs {
		if why := s.NotApplicable[r.Number]; why != "" {
			do(r, why)
		}
	}
}

// wrapped prints a text after its head. Further lines begin below the text.
func (l lister) wrapped(head, text string) {
	lines := []string{text}
	if indent := len([]rune(head)); l.width > 0 {
		lines = wrap(text, l.width-indent)
	}
	for i, line := range lines {
		if i == 1 {
			head = strings.Repeat(" ", len([]rune(head)))
		}
		fmt.Fprintln(l, head+line)
	}
}
