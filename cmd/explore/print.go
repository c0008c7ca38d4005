package main

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jedib0t/go-pretty/v6/text"

	"stockapi/internal/explore"
	"stockapi/internal/lock"
	"stockapi/loadtest/report/terminal"
)

// pageWidth is the width of what is not printed to a terminal, and leastWidth that below which nothing is wrapped.
const (
	pageWidth  = 120
	leastWidth = 40
)

// A printer prints what was found.
type printer struct {
	io.Writer
	brief  bool
	width  int
	colour bool
}

// newPrinter returns a printer that is as wide as the terminal, if its output is one.
func newPrinter(w io.Writer, brief bool) printer {
	p := printer{w, brief, pageWidth, terminal.Colourful(w)}
	if t := terminal.Of(w); t != nil {
		if columns, _ := t.Size(); columns > 0 {
			p.width = max(columns, leastWidth)
		}
	}
	return p
}

// The colours are those of the load test.
var (
	red    = text.Colors{text.FgRed}
	green  = text.Colors{text.FgGreen}
	yellow = text.Colors{text.FgYellow, text.Bold}
)

func (p printer) paint(c text.Colors, s string) string {
	if p.colour {
		return c.Sprint(s)
	}
	return s
}

func (p printer) line(s string) { fmt.Fprintln(p, strings.TrimRight(s, " ")) }

// inseparable matches the spaces at which no line should end. They are joints while a text is wrapped.
var inseparable = regexp.MustCompile(`(\d) (m?s\b)|\b(step|unit) (\d)`)

const joint = "\x1f"

// wrapped prints a text after its head. Further lines begin below the text.
func (p printer) wrapped(head, s string) {
	indent := text.StringWidthWithoutEscSequences(head)
	line, room := head, p.width-indent
	for i, word := range strings.Fields(inseparable.ReplaceAllString(s, "$1$3"+joint+"$2$4")) {
		word = strings.ReplaceAll(word, joint, " ")
		length := utf8.RuneCountInString(word)
		if i > 0 && room < length+1 {
			p.line(line)
			line, room, i = strings.Repeat(" ", indent), p.width-indent, 0
		}
		if i > 0 {
			line, room = line+" ", room-1
		}
		line, room = line+word, room-length
	}
	p.line(line)
}

// head prints the bounds: what is found holds within them.
func (p printer) head(f *flags) { p.wrapped("bounds: ", f.inBounds()) }

// inBounds says in words what limits the schedules.
func (f *flags) inBounds() string {
	said := fmt.Sprintf("%d clients with an order each, %d in stock, %s in one schedule", f.Clients, f.Stock,
		count(f.Faults, "fault"))
	if f.Switches > 0 {
		said += fmt.Sprintf(", at most %s between clients", count(f.Switches, "switch"))
	}
	return said
}

func (p printer) rung(number string) {
	r, err := lock.Find(number)
	if err == nil {
		p.line("")
		p.wrapped(r.Number+" "+r.Name+": ", r.Does)
	}
}

// cell prints what was found of one rung under one kind of fault.
func (p printer) cell(one *task) {
	c := one.cell
	found := p.paint(green, nothingFound)
	if len(c.Found) > 0 {
		found = p.paint(red, strings.Join(broken(c), ", ")+" BROKEN")
	}
	p.line(fmt.Sprintf("  %-12s %s: %s", column(c), ran(c), found))
	for i, found := range c.Found {
		p.counterexample(found, one.stories[i])
	}
	if surprise := one.surprise(); surprise != "" {
		p.line("    " + p.paint(yellow, "NOT AS EXPECTED: "+surprise))
	}
}

// column names a cell among those of its rung: by its fault and its situation.
func column(c explore.Cell) string {
	switch {
	case c.Situation == "":
		return c.Fault
	case c.Fault == "none":
		return c.Situation
	}
	return c.Situation + ", " + c.Fault
}

const nothingFound = "no violation within these bounds"

// ran says how many schedules were run, and whether they are all that there are.
func ran(c explore.Cell) string {
	text := count(c.Schedules, "schedule")
	switch {
	case !c.Exhausted:
		return text + ", not exhausted"
	case !c.Shortest:
		return text + ", exhausted, but there may be shorter counterexamples"
	}
	return text + ", exhausted"
}

// inWords says what was found of a cell.
func inWords(c explore.Cell) string {
	if len(c.Found) == 0 {
		return ran(c) + ": " + nothingFound
	}
	return ran(c) + ": " + strings.Join(broken(c), ", ") + " BROKEN"
}

func broken(c explore.Cell) (names []string) {
	for _, found := range c.Found {
		names = append(names, string(found.Verdict))
	}
	return names
}

func (p printer) counterexample(found explore.Counterexample, s explore.Story) {
	p.wrapped(fmt.Sprintf("    %-11s ", found.Verdict), s.Sentence(found.Violation))
	p.line(fmt.Sprintf("    %11s %s: %s", "", length(found), p.paint(text.Colors{text.Bold}, found.Trace.String())))
	if !p.brief {
		p.steps(s)
	}
}

// length says how long a counterexample is.
func length(c explore.Counterexample) string {
	return fmt.Sprintf("%s, %s, %s", count(c.Faults, "fault"), count(c.Switches, "switch"),
		count(len(c.Trace.Steps), "step"))
}

// story prints a schedule and what came of it.
func (p printer) story(s explore.Story) {
	p.line(s.Trace.String())
	p.steps(s)
	for _, order := range s.Orders {
		if !order.Later {
			p.line(order.Client + ": " + order.End)
		}
	}
	if len(s.Broken) == 0 {
		p.line(p.paint(green, "no violation in this schedule"))
	}
	for _, v := range s.Broken {
		p.wrapped(p.paint(red, string(v.Verdict)+" BROKEN")+" after "+count(v.At, "step")+": ", s.Sentence(v))
	}
}

// A row is one step in columns.
type row struct {
	Columns []string
	Fault   bool
	across  bool // the first column with a text stands for all of those of the clients
}

// columnsOf returns the steps of a schedule in columns: its number, one column for each client, what the servers hold,
// and the time.
func columnsOf(s explore.Story) (head []string, rows []row) {
	head = []string{"step"}
	for _, order := range s.Orders {
		if !order.Later {
			head = append(head, order.Client)
		}
	}
	clients := len(head) - 1
	head = append(head, "held in Redis", "time")
	for i, line := range s.Lines {
		one := row{make([]string, len(head)), line.Fault, !line.ByClient}
		one.Columns[0], one.Columns[1] = fmt.Sprint(i+1), "~ "+line.What
		if line.ByClient {
			one.Columns[1] = ""
			one.Columns[1+line.Step.Who] = line.What
		}
		one.Columns[1+clients], one.Columns[2+clients] = line.Holds, "+"+line.After.Round(time.Millisecond).String()
		rows = append(rows, one)
	}
	return head, rows
}

const indent = 5

// steps prints the steps of a schedule in columns. Where they are too wide, all clients share one.
func (p printer) steps(s explore.Story) {
	head, rows := columnsOf(s)
	widths := widthsOf(head, rows)
	if total(widths) > p.width {
		head, rows = together(head, rows)
		widths = widthsOf(head, rows)
	}
	p.row(row{Columns: head}, widths)
	for _, one := range rows {
		p.row(one, widths)
	}
}

// together puts the columns of the clients into one.
func together(head []string, rows []row) (narrow []string, out []row) {
	clients := len(head) - 3
	narrow = slices.Concat(head[:1], []string{"what"}, head[1+clients:])
	for _, one := range rows {
		what := one.Columns[1]
		for i, text := range one.Columns[1 : 1+clients] {
			if text != "" && !one.across {
				what = head[1+i] + ": " + text
			}
		}
		one.Columns = slices.Concat(one.Columns[:1], []string{what}, one.Columns[1+clients:])
		one.across = false
		out = append(out, one)
	}
	return narrow, out
}

// widthsOf returns the widths of the columns. A text that stands for all clients may reach over their columns.
func widthsOf(head []string, rows []row) []int {
	widths := make([]int, len(head))
	for _, one := range append([]row{{Columns: head}}, rows...) {
		for i, text := range one.Columns {
			if !one.across || i != 1 {
				widths[i] = max(widths[i], utf8.RuneCountInString(text))
			}
		}
	}
	last := len(head) - 3
	for _, one := range rows {
		if one.across {
			over := utf8.RuneCountInString(one.Columns[1]) - total(widths[1:1+last]) + indent + 2
			widths[last] += max(over, 0)
		}
	}
	return widths
}

func total(widths []int) int {
	sum := indent
	for _, w := range widths {
		sum += w + 2
	}
	return sum
}

func (p printer) row(one row, widths []int) {
	var line strings.Builder
	line.WriteString(strings.Repeat(" ", indent))
	short := 0 // what the columns before were too wide by
	for i, text := range one.Columns {
		room := widths[i] + 2 - short
		if text != "" || short == 0 {
			text = " " + text + " "
		}
		pad := room - utf8.RuneCountInString(text)
		line.WriteString(text + strings.Repeat(" ", max(pad, 0)))
		short = max(-pad, 0)
	}
	p.line(line.String())
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
	p.line(fmt.Sprintf("in %s: %d of %s exhausted, %s run", f.For, exhausted, count(len(tasks), "cell"),
		count(schedules, "schedule")))
}
