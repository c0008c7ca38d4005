package report

import (
	"fmt"
	"io"

	"stockapi/loadtest/audit"
	"stockapi/loadtest/history"
	"stockapi/loadtest/scenario"
)

// Stories tells, for each broken row, its first violation in words.
func Stories(w io.Writer, rows []*scenario.Row) {
	told := false
	for _, r := range rows {
		if story := audit.Story(r.Shown().Findings); story != "" {
			fmt.Fprintf(w, "%s %s: %s\n", r.Scenario, r.Rung, story)
			told = true
		}
	}
	if told {
		fmt.Fprintln(w)
	}
}

// Line is one finished cell in one line, for while the others still run.
func Line(c *history.Cell) string {
	if c.NotRun != "" {
		return fmt.Sprintf("%s: %s", c.Title(), c.NotRun)
	}
	line := fmt.Sprintf("%s: %s", c.Title(), verdict(c))
	if story := audit.Story(c.Findings); story != "" {
		line += ": " + story
	}
	return line
}

// Summary is the last word: as expected, or what was not. It reports whether all that was run is as expected.
func Summary(w io.Writer, rows []*scenario.Row) bool {
	met, ran, skipped := 0, 0, 0
	for _, r := range rows {
		met, ran, skipped = met+r.Met, ran+r.Ran(), skipped+len(r.Cells)-r.Ran()
	}
	notRun := ""
	if skipped > 0 {
		notRun = fmt.Sprintf("; %d not run", skipped)
	}
	if met == ran {
		fmt.Fprintf(w, "as expected (%d of %d cells%s)\n", met, ran, notRun)
		return true
	}
	fmt.Fprintf(w, "NOT as expected (%d of %d cells are%s):\n", met, ran, notRun)
	for _, r := range rows {
		for _, s := range r.Surprises {
			fmt.Fprintf(w, "  %s\n", s)
		}
	}
	return false
}
