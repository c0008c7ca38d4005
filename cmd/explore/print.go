package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mattn/go-isatty"

	"stockapi/internal/explore"
	"stockapi/internal/lock"
)

// A printer prints what was found.
type printer struct {
	io.Writer
	brief bool
}

// head prints the bounds: what is found holds within them.
func (p printer) head(f *flags) {
	fmt.Fprintf(p, "bounds: %d clients with an order each, %d in stock, %s in one schedule", f.Clients, f.Stock,
		count(f.Faults, "fault"))
	if f.Switches > 0 {
		fmt.Fprintf(p, ", at most %s between clients", count(f.Switches, "switch"))
	}
	fmt.Fprintln(p)
}

func (p printer) rung(number string) {
	r, err := lock.Find(number)
	if err == nil {
		fmt.Fprintf(p, "\n%s %s: %s\n", r.Number, r.Name, r.Does)
	}
}

// cell prints what was found of one rung under one kind of fault.
func (p printer) cell(t *testing.T, one *task) {
	c := one.cell
	exhausted := "exhausted"
	switch {
	case !c.Exhausted:
		exhausted = "not exhausted"
	case !c.Shortest:
		exhausted = "exhausted, but there may be shorter counterexamples"
	}
	fmt.Fprintf(p, "  %-12s %s, %s: ", column(c), count(c.Schedules, "schedule"), exhausted)
	if len(c.Found) == 0 {
		fmt.Fprintln(p, "no violation within these bounds")
	} else {
		fmt.Fprintln(p, strings.Join(broken(c), ", ")+" BROKEN")
	}
	for _, found := range c.Found {
		p.counterexample(t, one, found)
	}
	if surprise := one.surprise(); surprise != "" {
		fmt.Fprintln(p, "    NOT AS EXPECTED: "+surprise)
	}
}

// column names the fault of a cell, and its situation.
func column(c explore.Cell) string {
	switch {
	case c.Situation == "":
		return c.Fault
	case c.Fault == "none":
		return c.Situation
	}
	return c.Situation + ", " + c.Fault
}

func broken(c explore.Cell) (names []string) {
	for _, found := range c.Found {
		names = append(names, string(found.Verdict))
	}
	return names
}

func (p printer) counterexample(t *testing.T, one *task, found explore.Counterexample) {
	fmt.Fprintf(p, "    %-11s %s\n    %11s %s, %s, %s: %s\n", found.Verdict, found.Because, "",
		count(found.Faults, "fault"), count(found.Switches, "switch"), count(len(found.Trace.Steps), "step"), found.Trace)
	if p.brief {
		return
	}
	story, err := explore.Replay(t, found.Trace, one.bounds)
	if err == nil {
		story.Lines = story.Lines[:len(found.Trace.Steps)]
		p.lines(story)
	}
}

// story prints a schedule and what came of it.
func (p printer) story(s explore.Story) {
	fmt.Fprintln(p, s.Trace)
	p.lines(s)
	for _, end := range s.Ends {
		fmt.Fprintln(p, end)
	}
	if len(s.Broken) == 0 {
		fmt.Fprintln(p, "no violation in this schedule")
	}
	for _, v := range s.Broken {
		fmt.Fprintf(p, "%s BROKEN after %s: %s\n", v.Verdict, count(v.At, "step"), v.Because)
	}
}

// lines prints the steps of a schedule in columns: one for each client, one for the servers, and the time.
func (p printer) lines(s explore.Story) {
	rows := [][]string{{"a", "b", "held in Redis", "time"}}
	clients := 2
	for _, line := range s.Lines {
		clients = max(clients, line.Step.Who+1)
	}
	if clients == 3 {
		rows[0] = slices.Insert(rows[0], 2, "c")
	}
	for _, line := range s.Lines {
		row := make([]string, clients, clients+2)
		if line.ByClient {
			row[line.Step.Who] = line.What
		} else {
			row[0] = "~ " + line.What
		}
		rows = append(rows, append(row, line.Holds, "+"+line.After.String()))
	}
	p.columns(rows)
}

func (p printer) columns(rows [][]string) {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, text := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(text))
		}
	}
	for _, row := range rows {
		var line strings.Builder
		line.WriteString("     ")
		for i, text := range row {
			line.WriteString(" " + text + strings.Repeat(" ", widths[i]-utf8.RuneCountInString(text)) + " ")
		}
		fmt.Fprintln(p, strings.TrimRight(line.String(), " "))
	}
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

// howFar says how far the search got in its time.
func (p printer) howFar(f *flags, tasks []*task) {
	schedules, exhausted := 0, 0
	for _, one := range tasks {
		schedules += one.cell.Schedules
		if one.cell.Exhausted {
			exhausted++
		}
	}
	fmt.Fprintf(p, "\nin %s: %d of %s exhausted, %s run\n", f.For, exhausted, count(len(tasks), "cell"),
		count(schedules, "schedule"))
}

// progress says on a terminal how many cells were explored.
func progress(stderr io.Writer, tasks []*task) {
	file, ok := stderr.(*os.File)
	if !ok || !isatty.IsTerminal(file.Fd()) {
		return
	}
	done := 0
	for _, one := range tasks {
		select {
		case <-one.done:
			done++
		default:
		}
	}
	fmt.Fprintf(stderr, "\r\033[K%d of %s explored\r", done, count(len(tasks), "cell"))
}
