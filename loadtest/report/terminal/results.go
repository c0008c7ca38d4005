package terminal

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"stockapi/loadtest/catalog"
)

const (
	// mostLines is the greatest number of lines in which a run is printed, unless all is asked for or more than that is
	// not as expected.
	mostLines = 80
	// headerLines is the number of lines that are left for the header.
	headerLines = 6 // four, one more for a long backend, and a blank one
)

// An Outcome holds what is printed of a run.
type Outcome struct {
	Rows []*catalog.Row
	// Interrupted reports that the run ended before all cells were measured. Selected is the number of its cells, 0 if it
	// is not known.
	Interrupted bool
	Selected    int
	// Verbose prints everything. Otherwise results that take more than 80 lines are printed in short.
	Verbose bool
	// Out is the directory with the files of the run, empty if there is none.
	Out string
	// Read is the file or the directory that the run was read from, empty if it has just been made.
	Read string
}

// Results prints the stories, how soon requests got through, the matrix and the summary, in this order: what a terminal
// still shows at the end is the matrix. It returns what [Printer.Summary] does.
func (p Printer) Results(o Outcome) bool {
	o.Rows = plainRows(o.Rows)
	good := false
	end := p.text(func(p Printer) { good = p.Summary(o) })
	all := p.text(func(p Printer) {
		p.Stories(o.Rows)
		p.Recoveries(o.Rows)
		p.Matrix(o.Rows)
	})
	var left []string
	if room := mostLines - headerLines - lineCount(end) - 1; !o.Verbose && lineCount(all) > room {
		all, left = p.brief(o.Rows, room)
	}
	fmt.Fprint(p, all)
	p.where(o, left)
	fmt.Fprint(p, end)
	return good
}

// where says where that is which was left out.
func (p Printer) where(o Outcome, left []string) {
	var what string
	if last := len(left) - 1; last > 0 {
		what = strings.Join(left[:last], ", ") + " and " + left[last]
	} else {
		what = strings.Join(left, "")
	}
	page := filepath.Join(o.Out, "report.html")
	switch {
	case what != "" && o.Out != "":
		p.wrapped("", 2, fmt.Sprintf("%s: %s; every timeline: %s", what, filepath.Join(o.Out, "matrix.txt"), page))
	case what != "" && o.Read != "":
		p.wrapped("", 2, "--verbose prints "+what+"; loadtest report "+o.Read+" makes the page")
	case what != "":
		p.wrapped("", 2, "--verbose prints "+what+"; --out DIR writes all, with a page")
	case o.Out != "":
		p.wrapped("", 2, "every timeline: "+page)
	}
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// lineCount returns the number of lines of a text.
func lineCount(text string) int { return strings.Count(text, "\n") }

// leastStories is the number of lines of stories that are told also where a narrow terminal or a long ladder needs more
// lines.
const leastStories = 12

// brief prints the results in so many lines, if possible: each story once, a table of both crowds, and the grid as
// narrow as it has to be. Stories that do not fit are left out; the others are those that teach most. It returns what
// it left out.
func (p Printer) brief(rows []*catalog.Row, room int) (text string, left []string) {
	crowds, faults := split(rows)
	blocks := 0
	matrix := p.text(func(p Printer) {
		p.briefCrowds(crowds)
		blocks = p.briefFaults(faults)
		p.notRunBecause(rows)
	})
	stories := p.sentences(rows)
	forStories := room - lineCount(matrix)
	if p.width() < pageWidth || blocks > 1 {
		forStories = max(forStories, leastStories)
	}
	missing := 0
	said := p.text(func(p Printer) { missing = p.tell(stories, forStories) })
	if missing > 0 {
		left = append(left, plural(missing, "more story", "more stories"))
	}
	recoveries := p.text(func(p Printer) { p.Recoveries(rows) })
	if recoveries != "" && (missing > 0 || lineCount(said+recoveries+matrix) > room) {
		left, recoveries = append(left, "recovery times"), ""
	}
	return said + recoveries + matrix, append(left, "what each ok rests on")
}

// briefFaults prints the grid with columns as narrow as they have to be, in as few blocks as possible, and returns how
// many these are.
func (p Printer) briefFaults(rows []*catalog.Row) (blocks int) {
	if len(rows) == 0 {
		return 0
	}
	g, repeat := gridOf(rows)
	narrow := g.inFewestBlocks(func(blocks int) *narrowGrid { return g.narrow(p.width(), blocks, p.Colour) })
	if wide := len(g.blocks(p.width(), false)); narrow == nil || repeat > 1 || wide == 1 {
		p.faultGrid(rows)
		p.runOnceMore(rows)
		return wide
	}
	p.wrapped("", 0, fmt.Sprintf("faults%s; what broke: %s", leases(rows), legend))
	p.wrapped("", 0, g.headKey()+"– does not apply, ? nobody can tell, nr not run, nv not valid, "+
		"! not as expected, ~ longer leases")
	for _, block := range narrow.blocks {
		for _, line := range slices.Concat(narrow.heads(block), narrow.rows(block, 0, len(narrow.scenarios))) {
			fmt.Fprintln(p, line)
		}
		fmt.Fprintln(p)
	}
	return len(narrow.blocks)
}
