package terminal

import (
	"fmt"
	"path/filepath"

	"stockapi/loadtest/catalog"
)

// A Run is a run to print.
type Run struct {
	Rows []*catalog.Row
	// Interrupted means that the run ended before all cells were measured. Selected is the number of its cells, 0 if
	// unknown.
	Interrupted bool
	Selected    int
	// Verbose prints everything.
	Verbose bool
	// First means that the cells are the default ones; then the next commands are printed at the end.
	First bool
	// Out is the directory with the files of the run, empty if there is none.
	Out string
	// Read is the file or the directory that the run was read from, empty if it has just run.
	Read string
}

// fewCrowds is the maximum number of crowds whose figures are printed without --verbose.
const fewCrowds = 16

// Results prints the stories, the figures, the matrix and the lesson: the most important last, where it stays on the
// screen. [Printer.End] prints the rest.
func (p Printer) Results(o Run) {
	crowds := crowdsOf(o.Rows)
	p.Stories(o.Rows, o.Verbose)
	if o.Verbose || len(crowds) <= fewCrowds || crowds[0].Scenario.Name == o.Rows[len(o.Rows)-1].Scenario.Name {
		p.Crowds(crowds, o.Verbose)
	}
	p.Matrix(o.Rows)
	p.lesson(o)
}

// End prints where to find omitted details and the page, and the summary. It returns the result of [Printer.Summary].
// The files of the run must have been written.
func (p Printer) End(o Run) bool {
	what := "all figures"
	if stories := len(storiesOf(o.Rows, true)) - fewStories; stories > 0 {
		what = plural(stories, "more story", "more stories") + " and " + what
	}
	page := "loadtest report " + o.Read + " writes it"
	switch {
	case o.Out != "":
		what, page = filepath.Join(o.Out, "matrix.txt")+" has "+what, filepath.Join(o.Out, "report.html")
	case o.Read != "":
		what = "--verbose prints " + what
	default:
		what, page = "--verbose prints "+what, ""
	}
	if !o.Verbose {
		p.wrapped("", 2, what)
	}
	if page != "" {
		fmt.Fprintln(p, "page: "+page)
	}
	return p.Summary(o)
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
