package main

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"stockapi/cmd/explore/explore"
	"stockapi/internal/lock"
	"stockapi/loadtest/report/terminal"
	"stockapi/loadtest/schedule"
)

// pageWidth is the width of output that goes to no terminal.
const pageWidth = 120

// leastWidth is the least width of a wrapped column.
const leastWidth = 12

// A printer prints results.
type printer struct {
	terminal.Printer
	brief bool
}

func (p printer) width() int { return cmp.Or(p.Width, pageWidth) }

// The colours are those of the load test.
var (
	red    = text.Colors{text.FgRed}
	green  = text.Colors{text.FgGreen}
	yellow = text.Colors{text.FgYellow, text.Bold}
)

func (p printer) paint(c text.Colors, s string) string {
	if p.Colour {
		return c.Sprint(s)
	}
	return s
}

func (p printer) line(s string) { fmt.Fprintln(p, strings.TrimRight(s, " \n")) }

// wrapped prints a text after its head, and indents further lines to the text.
func (p printer) wrapped(head, s string) {
	indent := text.StringWidthWithoutEscSequences(head)
	for line := range strings.Lines(text.WrapSoft(s, max(p.width()-indent, leastWidth))) {
		p.line(head + line)
		head = strings.Repeat(" ", indent)
	}
}

// inBounds describes the bounds of the schedules.
func (f *flags) inBounds() string {
	return fmt.Sprintf("%d clients with an order each, %d in stock, %s in one schedule", f.Clients, explore.Stocked,
		count(f.Faults, "fault"))
}

func (p printer) rung(number string) {
	r, err := lock.Find(number)
	if err == nil {
		p.line("")
		p.wrapped(r.Number+" "+r.Name+": ", r.Does)
	}
}

// cell prints the result of one rung under one kind of fault.
func (p printer) cell(one *task) {
	c := one.cell
	found := p.paint(green, nothingFound)
	if len(c.Found) > 0 {
		found = p.paint(red, strings.Join(brokenVerdicts(c), ", ")+" BROKEN")
	}
	p.line(fmt.Sprintf("  %-12s %s: %s", column(c), coverage(c), found))
	for _, found := range c.Found {
		p.counterexample(found)
	}
	if surprise := one.surprise(); surprise != "" {
		p.line("    " + p.paint(yellow, "NOT AS EXPECTED: "+surprise))
	}
}

// column names a cell among those of its rung: by its fault and its situation.
func column(c explore.Exploration) string {
	switch {
	case c.Situation == "":
		return c.Fault
	case c.Fault == "none":
		return c.Situation
	}
	return c.Situation + ", " + c.Fault
}

const nothingFound = "no violation within these bounds"

// coverage returns how many schedules were run, and whether these are all.
func coverage(c explore.Exploration) string {
	text := count(c.Schedules, "schedule")
	switch {
	case !c.Exhausted:
		return text + ", not exhausted"
	case !c.Shortest:
		return text + ", exhausted, but there may be shorter counterexamples"
	}
	return text + ", exhausted"
}

func brokenVerdicts(c explore.Exploration) (names []string) {
	for _, found := range c.Found {
		names = append(names, string(found.Verdict))
	}
	return names
}

func (p printer) counterexample(found explore.Counterexample) {
	p.wrapped(fmt.Sprintf("    %-11s ", found.Verdict), found.Story.Sentence(found.Violation))
	p.line(fmt.Sprintf("    %11s %s: %s", "", length(found), p.paint(text.Colors{text.Bold}, found.Trace.String())))
	if !p.brief {
		p.steps(found.Story)
		p.page("      ", found.Trace)
	}
}

// page prints the command that replays a trace on real processes, if that is possible.
func (p printer) page(indent string, t schedule.Trace) {
	if t.VirtualOnly() == "" {
		p.line(indent + "on real processes, as a page: go run ./loadtest replay " + t.String() + " --out out/replay")
	}
}

// length describes the length of a counterexample.
func length(c explore.Counterexample) string {
	return fmt.Sprintf("%s, %s, %s", count(c.Faults, "fault"), count(c.Switches, "switch"),
		count(len(c.Trace.Steps), "step"))
}

// story prints a schedule and its result.
func (p printer) story(s explore.Story) {
	p.line(s.Trace.String())
	p.steps(s)
	for who, told := range s.Told {
		p.line(schedule.ClientName(who) + ": " + told)
	}
	if len(s.Broken) == 0 {
		p.line(p.paint(green, "no violation in this schedule"))
	}
	for _, v := range s.Broken {
		p.wrapped(p.paint(red, string(v.Verdict)+" BROKEN")+" after "+count(v.At, "step")+": ", s.Sentence(v))
	}
}

// columnsOf returns the steps of a schedule in columns: the number, one column per client, the state of the servers,
// and the time. A step of no client is in the first client's column.
func columnsOf(s explore.Story) (head []string, rows [][]string) {
	head = []string{"step"}
	clients := len(s.Told)
	for who := range clients {
		head = append(head, schedule.ClientName(who))
	}
	head = append(head, "held in Redis", "time")
	for i, line := range s.Lines {
		row := make([]string, len(head))
		if line.Step.NamesClient() {
			row[1+line.Step.Who] = line.What
		} else {
			row[1] = "~ " + line.What
		}
		row[0], row[1+clients] = fmt.Sprint(i+1), line.Holds
		row[2+clients] = "+" + line.After.Round(time.Millisecond).String()
		rows = append(rows, row)
	}
	return head, rows
}

// steps prints the steps of a schedule in columns. The clients' columns share the width that the others leave.
func (p printer) steps(s explore.Story) {
	head, rows := columnsOf(s)
	w := table.NewWriter()
	w.SetStyle(columns)
	clients, room := len(head)-3, p.width()-len("      step  +10.001s  ")
	if len(s.Lines) > 0 {
		room -= len(s.Lines[0].Holds) + 4
	}
	var widths []table.ColumnConfig
	for i := range clients {
		widths = append(widths, table.ColumnConfig{Number: 2 + i, WidthMaxEnforcer: text.WrapSoft,
			WidthMax: max(room/clients-2, leastWidth)})
	}
	w.SetColumnConfigs(widths)
	w.AppendHeader(cells(head))
	for _, row := range rows {
		w.AppendRow(cells(row))
	}
	for line := range strings.Lines(w.Render()) {
		p.line("     " + line)
	}
}

// columns is the style of a table without lines.
var columns = table.Style{
	Box: table.BoxStyle{PaddingLeft: " ", PaddingRight: " "}, Options: table.OptionsNoBordersAndSeparators,
}

func cells(texts []string) (row table.Row) {
	for _, text := range texts {
		row = append(row, text)
	}
	return row
}

func count(n int, what string) string {
	switch {
	case n == 1:
		return "1 " + what
	case strings.HasSuffix(what, "ch"):
		what += "e"
	}
	return fmt.Sprintf("%d %ss", n, what)
}
