package terminal

import (
	"fmt"
	"io"
	"strings"

	"stockapi/loadtest/audit"
	"stockapi/loadtest/catalog"
	"stockapi/loadtest/history"
)

// Line describes a finished cell in one line, during the run: its verdict and its story, or after a "!" what is not as
// expected.
func Line(c *history.Cell) string {
	if c.NotRun != "" {
		return fmt.Sprintf("%s: %s", c.Title(), c.NotRun)
	}
	if why := catalog.Invalid(c); why != "" {
		return "! " + why
	}
	if surprises := catalog.Surprises(c); len(surprises) > 0 {
		return "! " + strings.Join(surprises, "; ")
	}
	line := fmt.Sprintf("%s: %s", c.Title(), verdict(c))
	if story := audit.Story(c.Findings); story != "" {
		line += ": " + story
	}
	return line
}

// Results prints the stories, how soon requests got through, the matrix and the summary, in this order: what a terminal
// still shows at the end is the matrix. It returns what [Summary] does.
func Results(w io.Writer, rows []*catalog.Row, colour bool) bool {
	Stories(w, rows)
	Recoveries(w, rows)
	Matrix(w, rows, colour)
	return Summary(w, rows)
}

// Summary prints the last lines: as expected, or what was not, and which cells are no measurement of their rungs. It
// returns whether all that was measured is as expected.
func Summary(w io.Writer, rows []*catalog.Row) bool {
	met, ran, skipped, invalid, surprises := 0, 0, 0, 0, 0
	for _, r := range rows {
		met, ran, skipped = met+r.Met, ran+r.Ran(), skipped+len(r.Cells)-r.Ran()
		invalid, surprises = invalid+len(r.Invalid), surprises+len(r.Surprises)
	}
	others := ""
	if invalid > 0 {
		others += fmt.Sprintf("; %d not valid", invalid)
	}
	if skipped > 0 {
		others += fmt.Sprintf("; %d not run", skipped)
	}
	switch {
	case surprises > 0:
		fmt.Fprintf(w, "NOT as expected (%d of %d cells are%s):\n", met, ran, others)
	case invalid > 0:
		fmt.Fprintf(w, "nothing was found that is not as expected, but not all was measured "+
			"(%d of %d cells are as expected%s):\n", met, ran, others)
	default:
		fmt.Fprintf(w, "as expected (%d of %d cells%s)\n", met, ran, others)
	}
	for _, r := range rows {
		for _, s := range append(r.Surprises, r.Invalid...) {
			fmt.Fprintf(w, "  %s\n", s)
		}
	}
	return surprises == 0
}
