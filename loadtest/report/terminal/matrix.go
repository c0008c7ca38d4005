package terminal

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/history"
)

// A column is one column of the matrix. Its width is a minimum, the same in each table, so that tables line up.
type column struct {
	title string
	width int
	right bool
	value func(*catalog.Row, *history.Cell) string
}

// columns returns the columns of the matrix that fit into the width. Not-sold, not-sent and met are only shown if they
// say something.
func columns(rows []*catalog.Row, width int) []column {
	cols := []column{
		{"", 1, false, mark},
		{"rung", 17, false, rung},
		{"inst", 4, true, func(_ *catalog.Row, c *history.Cell) string { return fmt.Sprint(len(c.Instances)) }},
		{"verdict", 23, false, func(_ *catalog.Row, c *history.Cell) string { return verdict(c) }},
		{"sold", 4, true, count(func(t history.Tally) int { return t.Sold })},
		{"refused", 7, true, count(func(t history.Tally) int { return t.Refused })},
		{"busy", 4, true, count(func(t history.Tally) int { return t.Busy })},
	}
	if anyRow(rows, func(c *history.Cell) bool { return c.Tally().NotSold > 0 }) {
		cols = append(cols, column{"not-sold", 8, true, count(func(t history.Tally) int { return t.NotSold })})
	}
	if anyRow(rows, func(c *history.Cell) bool { return c.Tally().NotSent > 0 }) {
		cols = append(cols, column{"not-sent", 8, true, count(func(t history.Tally) int { return t.NotSent })})
	}
	cols = append(cols,
		column{"unknown", 7, true, count(func(t history.Tally) int { return t.Unknown })},
		column{"left", 4, true, func(_ *catalog.Row, c *history.Cell) string { return left(c) }},
		column{"twice", 5, true, func(_ *catalog.Row, c *history.Cell) string { return fmt.Sprint(c.SoldTwice()) }},
		column{"req/s", 6, true, func(_ *catalog.Row, c *history.Cell) string {
			return rate(c.Tally().Buyers-c.Tally().NotSent, c.Elapsed)
		}},
		column{"p50 ms", 6, true, func(_ *catalog.Row, c *history.Cell) string { return millis(c.Latency.P50) }},
		column{"p99 ms", 6, true, func(_ *catalog.Row, c *history.Cell) string { return millis(c.Latency.P99) }},
		column{"cmd/sale", 8, true, func(_ *catalog.Row, c *history.Cell) string { return perSale(c) }},
	)
	if anyRepeated(rows) {
		cols = append(cols, column{"met", 5, true, func(r *catalog.Row, _ *history.Cell) string {
			return fmt.Sprintf("%d/%d", r.Met, r.Ran())
		}})
	}
	return fitting(cols, rows, width)
}

// spare are the columns that are dropped where a table is too wide, the first one first, after busy and unknown if they
// hold nothing but zeros. Speed matters less than whether a lock holds, which can be read from those that stay:
// verdict, sold, left and twice.
var spare = []string{
	"p50 ms", "inst", "p99 ms", "req/s", "cmd/sale", "busy", "not-sold", "refused", "not-sent", "unknown", "met",
}

// fitting drops columns until the rest fits.
func fitting(cols []column, rows []*catalog.Row, width int) []column {
	var order []string
	for _, c := range cols {
		zero := func(r *catalog.Row) bool { return r.Shown().NotRun != "" || c.value(r, r.Shown()) == "0" }
		if (c.title == "busy" || c.title == "unknown") && len(filter(rows, zero)) == len(rows) {
			order = append(order, c.title)
		}
	}
	for _, title := range append(order, spare...) {
		if taken(cols) <= width {
			break
		}
		cols = slices.DeleteFunc(cols, func(c column) bool { return c.title == title })
	}
	return cols
}

// taken returns the width of a table, but for values that are wider than their columns.
func taken(cols []column) (width int) {
	for _, c := range cols {
		width += c.width + 1
	}
	return width
}

// Matrix prints one table per scenario with a crowd, one line per rung, and one grid for all scenarios with faults.
// With colour, broken verdicts stand out. A "!" marks what is not as expected in any case.
func (p Printer) Matrix(rows []*catalog.Row) {
	crowds, faults := split(rows)
	p.tables(crowds)
	if len(faults) > 0 {
		p.faults(faults)
	}
}

// split separates the rows with a crowd from those with a fault.
func split(rows []*catalog.Row) (crowds, faults []*catalog.Row) {
	for _, r := range rows {
		if s, _ := catalog.Find(r.Scenario); s.Fault() {
			faults = append(faults, r)
		} else {
			crowds = append(crowds, r)
		}
	}
	return crowds, faults
}

func (p Printer) tables(rows []*catalog.Row) {
	cols := columns(rows, p.width())
	for start := 0; start < len(rows); {
		end := start
		for end < len(rows) && rows[end].Scenario == rows[start].Scenario {
			end++
		}
		p.wrapped("", 2, titleOf(rows[start].Scenario))
		p.section(cols, rows[start:end])
		fmt.Fprintln(p)
		p.coverages(rows[start:end])
		p.clients(rows[start:end])
		start = end
	}
}

func titleOf(name string) string {
	if s, known := catalog.Find(name); known {
		return name + ": " + s.Does
	}
	return name
}

func (p Printer) section(cols []column, rows []*catalog.Row) {
	t := table.NewWriter()
	t.SetStyle(style())
	var head table.Row
	var configs []table.ColumnConfig
	for i, c := range cols {
		head = append(head, c.title)
		config := table.ColumnConfig{Number: i + 1, WidthMin: c.width}
		if c.right {
			config.Align, config.AlignHeader = text.AlignRight, text.AlignRight
		}
		configs = append(configs, config)
	}
	t.AppendHeader(head)
	t.SetColumnConfigs(configs)
	for _, r := range rows {
		t.AppendRow(line(cols, r, p.width(), p.Colour))
	}
	for _, line := range rendered(t) {
		fmt.Fprintln(p, line)
	}
}

// rendered returns the lines of a table, without spaces at their ends.
func rendered(t table.Writer) []string {
	lines := strings.Split(strings.TrimRight(t.Render(), "\n"), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return lines
}

// widest returns the width of the widest line.
func widest(lines []string) int { return text.LongestLineLen(strings.Join(lines, "\n")) }

func style() table.Style {
	s := table.StyleLight
	s.Format.Header = text.FormatDefault
	s.Options = table.Options{SeparateHeader: true}
	s.Box.PaddingLeft, s.Box.PaddingRight = "", " "
	return s
}

// line renders a row by the cell that stands for it. A cell that was not run has a reason and no figures. The reason is
// wrapped where it would make the table too wide.
func line(cols []column, r *catalog.Row, width int, colour bool) table.Row {
	c := r.Shown()
	var out table.Row
	for _, col := range cols {
		v := ""
		switch {
		case c.NotRun == "" || col.title == "rung":
			v = col.value(r, c)
		case col.title == "verdict":
			v = strings.Join(wrap(c.NotRun, col.width+max(0, width-taken(cols))), "\n")
		}
		if colour {
			v = paint(col.title, v)
		}
		out = append(out, v)
	}
	return out
}

func paint(title, v string) string {
	switch {
	case title == "" && v != "":
		return text.Colors{text.FgYellow, text.Bold}.Sprint(v)
	case title != "verdict":
		return v
	case strings.HasPrefix(v, string(history.Broken)):
		return text.FgRed.Sprint(v)
	case strings.HasPrefix(v, string(history.OK)):
		return text.FgGreen.Sprint(v)
	default:
		return text.FgYellow.Sprint(v)
	}
}

func mark(r *catalog.Row, _ *history.Cell) string {
	if len(r.Surprises)+len(r.Unknown)+len(r.Invalid) > 0 {
		return "!"
	}
	return ""
}

func rung(r *catalog.Row, _ *history.Cell) string {
	if strings.Contains(r.Rung, "-") { // the number includes a name
		return r.Rung
	}
	return r.Rung + " " + r.Name
}

// verdict returns the worst result, with the questions that got it.
func verdict(c *history.Cell) string {
	if catalog.Invalid(c) != "" {
		return "not valid"
	}
	worst := history.Worst(c.Findings)
	if worst != history.Broken && worst != history.Indeterminate {
		return string(worst)
	}
	var which []string
	for _, f := range c.Findings {
		if f.Result == worst {
			which = append(which, string(f.Verdict))
		}
	}
	return string(worst) + " " + strings.Join(which, ", ")
}

func count(of func(history.Tally) int) func(*catalog.Row, *history.Cell) string {
	return func(_ *catalog.Row, c *history.Cell) string { return fmt.Sprint(of(c.Tally())) }
}

// left returns what the buyers left. What probes bought afterwards is added again: a probe cannot ask for more than a
// large stock, and buys one unit.
func left(c *history.Cell) string {
	if c.Left == nil {
		return "?"
	}
	return fmt.Sprint(*c.Left + c.UnitsOfProbes())
}

func rate(buyers int, in time.Duration) string {
	if in <= 0 {
		return "–"
	}
	return fmt.Sprintf("%.0f", float64(buyers)/in.Seconds())
}

func millis(d time.Duration) string {
	ms := float64(d) / float64(time.Millisecond)
	switch {
	case ms < 10:
		return fmt.Sprintf("%.2f", ms)
	case ms < 100:
		return fmt.Sprintf("%.1f", ms)
	default:
		return fmt.Sprintf("%.0f", ms)
	}
}

func perSale(c *history.Cell) string {
	sold := c.Tally().Sold
	if c.Commands == nil || sold == 0 {
		return "–"
	}
	return fmt.Sprintf("%.1f", float64(*c.Commands)/float64(sold))
}

func anyRow(rows []*catalog.Row, is func(*history.Cell) bool) bool {
	for _, r := range rows {
		if is(r.Shown()) {
			return true
		}
	}
	return false
}

func anyRepeated(rows []*catalog.Row) bool {
	for _, r := range rows {
		if len(r.Cells) > 1 {
			return true
		}
	}
	return false
}
