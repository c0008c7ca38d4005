package report

import (
	"fmt"
	"io"
	"strings"

	"stockapi/loadtest/audit"
	"stockapi/loadtest/history"
	"stockapi/loadtest/scenario"
)

// Line is a finished cell in one line, for while the others still run: its verdict and its story, or after a "!" what
// of it is not as expected.
func Line(c *history.Cell) string {
	if c.NotRun != "" {
		return fmt.Sprintf("%s: %s", c.Title(), c.NotRun)
	}
	if surprises := scenario.Surprises(c); len(surprises) > 0 {
		return "! " + strings.Join(surprises, "; ")
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
