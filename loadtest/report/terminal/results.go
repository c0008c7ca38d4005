package terminal

import (
	"fmt"
	"path/filepath"

	"stockapi/loadtest/catalog"
)

// A Run holds what is printed of a run.
type Run struct {
	Rows []*catalog.Row
	// Interrupted reports that the run ended before all cells were measured. Selected is the number of its cells, 0 if it
	// is not known.
	Interrupted bool
	Selected    int
	// Verbose prints everything.
	Verbose bool
	// First reports that nobody chose the cells: what to do next is printed at the end.
	First bool
	// Out is the directory with the files of the run, empty if there is none.
	Out string
	// Read is the file or the directory that the run was read from, empty if it has just been made.
	Read string
}

// fewCrowds is the number of crowds whose figures are printed though not all was asked for.
const fewCrowds = 16

// Results prints the stories, the figures, the matrix and what it teaches, in this order: what a terminal still shows
// at the end is the matrix and its lesson. [Printer.End] prints the rest.
func (p Printer) Results(o Run) {
	crowds := crowdsOf(o.Rows)
	p.Stories(o.Rows, o.Verbose)
	if o.Verbose || len(crowds) <= fewCrowds || crowds[0].Scenario.Name == o.Rows[len(o.Rows)-1].Scenario.Name {
		p.Crowds(crowds, o.Verbose)
	}
	p.Matrix(o.Rows)
	p.lesson(o)
}

// End prints where the omitted details and the page are, and the summary. It returns what [Printer.Summary]
// does. The files of the run are written by then.
func (p Printer) End(o Run) bool {
	what := "all figures"
	if stories := len(storiesOf(o.Rows, true)) - fewStories; stories > 0 {
		what = plural(stories, "more story", "more stories") + " and " + what
	}
	page := "loadtest report " + o.Read + " makes it"
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
