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

// A column is one column of the figures of a crowd.
type column struct {
	title string
	value func(*catalog.Row, *catalog.Assessment) string
	// spare columns are dropped where a table is too wide, the last one first. Speed matters less than whether a lock
	// holds, which can be read from those that stay.
	spare bool
	// often is the value of most cells; a column that has no other is left out.
	often string
}

// columns are the figures of a crowd.
var columns = []column{
	{"", mark, false, "-"},
	{"rung", rung, false, "-"},
	{"inst", of(func(c *catalog.Assessment) string { return fmt.Sprint(len(c.Instances)) }), true, "-"},
	{"verdict", of(verdict), false, "-"},
	{"sold", count(func(t history.Tally) int { return t.Sold }), false, "-"},
	{"refused", count(func(t history.Tally) int { return t.Refused }), true, "-"},
	{"busy", count(func(t history.Tally) int { return t.Busy }), true, "-"},
	{"not-sold", count(func(t history.Tally) int { return t.NotSold }), true, "0"},
	{"not-sent", count(func(t history.Tally) int { return t.NotSent }), true, "0"},
	{"unknown", count(func(t history.Tally) int { return t.Unknown }), true, "-"},
	{"left", of(func(c *catalog.Assessment) string { return c.LeftByBuyers() }), false, "-"},
	{"twice", of(func(c *catalog.Assessment) string { return fmt.Sprint(c.SoldTwice()) }), false, "-"},
	{"req/s", of(rate), true, "-"},
	{"p50 ms", of(func(c *catalog.Assessment) string { return millis(c.Latency.P50) }), true, "-"},
	{"p99 ms", of(func(c *catalog.Assessment) string { return millis(c.Latency.P99) }), true, "-"},
	{"cmd/sale", of(func(c *catalog.Assessment) string { return c.CommandsPerSale() }), true, "-"},
	{"met", met, true, ""},
}

// Crowds prints the figures of each scenario with a crowd, a line for each rung. All also prints what each ok rests on.
func (p Printer) Crowds(rows []*catalog.Row, all bool) {
	for len(rows) > 0 {
		s := rows[0].Scenario
		of := filter(rows, func(r *catalog.Row) bool { return r.Scenario.Name == s.Name })
		rows = filter(rows, func(r *catalog.Row) bool { return r.Scenario.Name != s.Name })
		p.wrapped("", 2, s.Name+": "+s.Does)
		p.lines(p.figures(of))
		if all {
			p.coverages(of)
		}
		p.clients(of)
	}
}

// crowdsOf returns the rows that have figures of a crowd.
func crowdsOf(rows []*catalog.Row) []*catalog.Row {
	return filter(rows, func(r *catalog.Row) bool {
		return r.Scenario.Crowd && r.Shown().NotRun == ""
	})
}

// AnyCrowd reports whether any of the rows has figures of a crowd.
func AnyCrowd(rows []*catalog.Row) bool { return len(crowdsOf(rows)) > 0 }

// figures draws a table of the columns that fit.
func (p Printer) figures(rows []*catalog.Row) []string {
	cols := filter(columns, func(col column) bool {
		return slices.ContainsFunc(rows, func(r *catalog.Row) bool { return col.value(r, r.Shown()) != col.often })
	})
	for {
		lines, width := rendered(p.table(cols, rows))
		last := len(cols) - 1
		for last >= 0 && !cols[last].spare {
			last--
		}
		if width <= p.width() || last < 0 {
			return lines
		}
		cols = slices.Delete(cols, last, last+1)
	}
}

func (p Printer) table(cols []column, rows []*catalog.Row) table.Writer {
	var head table.Row
	configs := []table.ColumnConfig{{Number: 1, WidthMin: 1}}
	for i, col := range cols {
		head = append(head, col.title)
		if !slices.Contains([]string{"", "rung", "verdict"}, col.title) {
			configs = append(configs, table.ColumnConfig{Number: i + 1, Align: text.AlignRight, AlignHeader: text.AlignRight})
		}
	}
	t := newTable(head, configs...)
	for _, r := range rows {
		var line table.Row
		for _, col := range cols {
			v := col.value(r, r.Shown())
			if p.Colour && col.title == "verdict" {
				v = colourOf(r.Shown().Findings).Sprint(v)
			}
			line = append(line, v)
		}
		t.AppendRow(line)
	}
	return t
}

func mark(r *catalog.Row, _ *catalog.Assessment) string {
	if len(r.Surprises)+len(r.Unknown)+len(r.Invalid) > 0 {
		return "!"
	}
	return ""
}

// met tells how many repetitions are as expected, if there are several.
func met(r *catalog.Row, _ *catalog.Assessment) string {
	if len(r.Cells) == 1 {
		return ""
	}
	return fmt.Sprintf("%d/%d", r.Met, r.Ran())
}

func rung(r *catalog.Row, _ *catalog.Assessment) string {
	return catalog.RungTitle(r.Rung, r.Name)
}

// verdict returns the worst result, with the questions that got it.
func verdict(c *catalog.Assessment) string {
	if c.Invalid != "" {
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

// of makes a column's value of the cell alone, and count of its tally.
func of(value func(*catalog.Assessment) string) func(*catalog.Row, *catalog.Assessment) string {
	return func(_ *catalog.Row, c *catalog.Assessment) string { return value(c) }
}

func count(what func(history.Tally) int) func(*catalog.Row, *catalog.Assessment) string {
	return of(func(c *catalog.Assessment) string { return fmt.Sprint(what(c.Tally())) })
}

func rate(c *catalog.Assessment) string {
	if c.Elapsed <= 0 {
		return "–"
	}
	return fmt.Sprintf("%.0f", float64(c.Tally().Buyers-c.Tally().NotSent)/c.Elapsed.Seconds())
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
