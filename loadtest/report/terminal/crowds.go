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
	// outcome columns count outcomes of orders, and fit a terminal of 80 columns. The others are for speed and rare
	// outcomes.
	outcome bool
}

// columns are the figures of a crowd.
var columns = []column{
	{"", mark, true},
	{"rung", rung, true},
	{"inst", of(func(c *catalog.Assessment) string { return fmt.Sprint(len(c.Instances)) }), false},
	{"verdict", of(verdict), true},
	{"sold", count(func(t history.Tally) int { return t.Sold }), true},
	{"refused", count(func(t history.Tally) int { return t.Refused }), true},
	{"busy", count(func(t history.Tally) int { return t.Busy }), true},
	{"not-sold", count(func(t history.Tally) int { return t.NotSold }), false},
	{"not-sent", count(func(t history.Tally) int { return t.NotSent }), false},
	{"unknown", count(func(t history.Tally) int { return t.Unknown }), true},
	{"left", of(func(c *catalog.Assessment) string { return c.LeftByBuyers() }), true},
	{"twice", of(func(c *catalog.Assessment) string { return fmt.Sprint(c.SoldTwice()) }), true},
	{"req/s", of(rate), false},
	{"p50 ms", of(func(c *catalog.Assessment) string { return millis(c.Latency.P50) }), false},
	{"p99 ms", of(func(c *catalog.Assessment) string { return millis(c.Latency.P99) }), false},
	{"cmd/sale", of(func(c *catalog.Assessment) string { return c.CommandsPerSale() }), false},
}

// Crowds prints the figures of each scenario with a crowd, a line for each rung. With all it adds the remaining
// columns, and the evidence for each ok.
func (p Printer) Crowds(rows []*catalog.Row, all bool) {
	for len(rows) > 0 {
		s := rows[0].Scenario
		of := filter(rows, func(r *catalog.Row) bool { return r.Scenario.Name == s.Name })
		rows = filter(rows, func(r *catalog.Row) bool { return r.Scenario.Name != s.Name })
		p.wrapped("", 2, s.Name+": "+s.Does)
		p.lines(render(p.figures(of, all)))
		if all {
			p.coverages(of)
		}
		p.clients(of)
	}
}

// crowdsOf returns the rows that have figures of a crowd.
func crowdsOf(rows []*catalog.Row) []*catalog.Row {
	return filter(rows, func(r *catalog.Row) bool {
		return r.Scenario.Crowd && r.Shown().NotTested == nil
	})
}

// AnyCrowd reports whether any of the rows has figures of a crowd.
func AnyCrowd(rows []*catalog.Row) bool { return len(crowdsOf(rows)) > 0 }

// figures returns the table of a scenario's crowds.
func (p Printer) figures(rows []*catalog.Row, all bool) table.Writer {
	cols := filter(columns, func(col column) bool { return all || col.outcome })
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

func rung(r *catalog.Row, _ *catalog.Assessment) string {
	return catalog.RungTitle(r.Rung, r.Name)
}

// verdict returns the worst result, with the verdicts that have it.
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

// of makes a column's value from the cell alone; count makes one from its tally.
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
