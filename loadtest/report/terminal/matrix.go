package terminal

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/history"
)

// A grid has a line for each scenario and a column for each rung.
type grid struct {
	scenarios []string
	columns   []gridColumn
	repeat    int // the planned number of repetitions
}

// A gridColumn is a rung with an entry for each scenario.
type gridColumn struct {
	head    string
	entries []entry
	width   int
}

// Matrix prints the grid of all scenarios, below a legend. A "!" marks each surprise. Columns that do not fit go into
// further blocks below.
func (p Printer) Matrix(rows []*catalog.Row) {
	g := newGrid(rows)
	p.wrapped("", 2, g.legend())
	if g.repeat > 1 {
		p.wrapped("", 2, fmt.Sprintf("each cell was run %d times; where not all runs were as expected, a second line has "+
			"the number that were", g.repeat))
	}
	// Below a block come a blank line, the lesson, and the summary.
	const below = 8
	long := p.Height > 0 && len(g.scenarios)+below > p.Height
	lines := below
	for from := 0; from < len(g.columns); {
		to := g.fitting(from, p.width())
		block := g.block(from, to, p.Colour, long)
		p.lines(block)
		from, lines = to, lines+len(block)+1
	}
	if p.Height > 0 && lines > p.Height {
		p.wrapped("", 2, g.legend())
	}
	p.notRunBecause(rows)
}

func newGrid(rows []*catalog.Row) *grid {
	g := &grid{}
	at, of := map[[2]string]*catalog.Row{}, map[string]catalog.Scenario{}
	var rungs []string
	for _, r := range rows {
		name := r.Scenario.Name
		at[[2]string{name, r.Rung}] = r
		if of[name] = r.Scenario; !slices.Contains(g.scenarios, name) {
			g.scenarios = append(g.scenarios, name)
		}
		if !slices.Contains(rungs, r.Rung) {
			rungs = append(rungs, r.Rung)
		}
		g.repeat = max(g.repeat, len(r.Cells))
	}
	slices.SortStableFunc(rungs, func(a, b string) int { return catalog.Height(a) - catalog.Height(b) })
	for _, rung := range rungs {
		// Long numbers are hyphenated words; a heading of several lines keeps the column narrow.
		c := gridColumn{head: strings.ReplaceAll(rung, "-", "-\n")}
		c.width = text.LongestLineLen(c.head)
		for _, s := range g.scenarios {
			e := absent(of[s], rung)
			if r := at[[2]string{s, rung}]; r != nil {
				e = entryOf(r, g.repeat)
			}
			c.entries = append(c.entries, e)
			c.width = max(c.width, text.LongestLineLen(e.text+e.below))
		}
		g.columns = append(g.columns, c)
	}
	return g
}

// fitting returns the end of the columns that fit into a block, at least one.
func (g *grid) fitting(from, width int) (to int) {
	taken := text.LongestLineLen(strings.Join(g.scenarios, "\n")) + 1
	for to = from; to < len(g.columns); to++ {
		if taken += g.columns[to].width + 1; taken > width && to > from {
			break
		}
	}
	return to
}

// block draws some of the columns. A long block repeats its heading below.
func (g *grid) block(from, to int, colour, long bool) []string {
	head := table.Row{""}
	for _, c := range g.columns[from:to] {
		head = append(head, c.head)
	}
	t := newTable(head)
	for i, name := range g.scenarios {
		line := table.Row{name}
		for _, c := range g.columns[from:to] {
			line = append(line, c.entries[i].in(colour))
		}
		t.AppendRow(line)
	}
	if long {
		t.AppendFooter(head)
	}
	return render(t)
}

// legend explains the letters and the marks in the grid.
func (g *grid) legend() string {
	var all strings.Builder
	for _, c := range g.columns {
		for _, e := range c.entries {
			all.WriteString(e.text + " ")
		}
	}
	var broke, marks []string
	for _, v := range history.Verdicts {
		if strings.Contains(all.String(), Letters[v]) {
			broke = append(broke, Letters[v]+" "+string(v))
		}
	}
	for _, mark := range [][2]string{
		{string(history.NotApplicable), "does not apply"}, {"?", "unknown"}, {notRun, "not run"},
		{notValid, "not valid"}, {"!", "not as expected"}, {"~", "longer leases"},
	} {
		if strings.Contains(all.String(), mark[0]) {
			marks = append(marks, mark[0]+" "+mark[1])
		}
	}
	if len(broke) == 0 {
		broke = []string{"nothing"}
	}
	return strings.TrimSuffix("what broke: "+strings.Join(broke, ", ")+"; "+strings.Join(marks, ", "), "; ")
}

// notRunBecause lists the reasons why cells were not run.
func (p Printer) notRunBecause(rows []*catalog.Row) {
	count := map[string]int{}
	for _, r := range rows {
		if why := r.Shown().WhyNot(); why != "" {
			count[why]++
		}
	}
	for _, why := range slices.Sorted(maps.Keys(count)) {
		p.wrapped("", 2, fmt.Sprintf("not run, %d: %s", count[why], why))
	}
	if len(count) > 0 {
		fmt.Fprintln(p)
	}
}
