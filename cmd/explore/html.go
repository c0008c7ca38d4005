package main

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"regexp"
	"slices"
	"strings"

	"stockapi/internal/explore"
	"stockapi/internal/lock"
	"stockapi/loadtest/history"
	"stockapi/loadtest/report/html"
)

//go:embed page.gohtml
var pageLayout string

var pageTemplate = html.Layout(pageLayout)

// A page shows the cells, with a timeline of each shortest counterexample. --html writes it.
type page struct {
	html.Sheet
	Title, Outcome string
	Good           bool
	Bounds         []fact
	Faults         []string
	Lines          []pageLine
	Letters        []fact
	Surprises      []*pageCell
}

type fact struct{ Name, Value string }

// A pageLine is one rung.
type pageLine struct {
	ID, Name, Does string
	Cells          []*pageCell // one for each fault, nil where there is none
}

// A pageCell shows one rung under one kind of fault.
type pageCell struct {
	ID, Rung, Fault    string
	Class, Word, Count string
	Label              string // in words
	Exhausted, Open    bool
	Surprise, Why      string
	Found              []pageFound

	Left, Right, Up, Down *pageCell
}

// A pageFound is the shortest counterexample for one verdict.
type pageFound struct {
	Verdict, Class, Sentence string
	Trace, Length, Command   string
	SVG                      template.HTML
	Head                     []string
	Rows                     []row
}

// unsafe matches what an id should not have.
var unsafe = regexp.MustCompile(`[^a-z0-9-]+`)

// maxOpen is the greatest number of cells with counterexamples that are open from the start.
const maxOpen = 4

// writeHTML writes the page to the file that --html names.
func (f *flags) writeHTML(tasks []*task, r *results) error {
	if f.HTML == "" {
		return nil
	}
	return history.WriteFile(f.HTML, func(w io.Writer) error {
		return pageTemplate.Execute(html.Printable(w), f.page(tasks, r))
	})
}

func (f *flags) page(tasks []*task, r *results) *page {
	p := &page{Sheet: html.NewSheet(), Title: "explore: every order of two clients' commands", Bounds: f.facts()}
	if f.Clients > 2 {
		p.Title = strings.Replace(p.Title, "two", "three", 1)
	}
	p.Good, p.Outcome = r.outcome()
	for _, one := range tasks {
		if !slices.Contains(p.Faults, column(one.cell)) {
			p.Faults = append(p.Faults, column(one.cell))
		}
	}
	for _, one := range tasks {
		p.add(f.pageCell(one))
	}
	for _, v := range explore.Verdicts {
		p.Letters = append(p.Letters, fact{letter(v), string(v)})
	}
	p.link()
	return p
}

// add puts a cell into the line of its rung. The cells come rung by rung.
func (p *page) add(c *pageCell) {
	if n := len(p.Lines); n == 0 || p.Lines[n-1].ID != "rung-"+c.Rung {
		line := pageLine{ID: "rung-" + c.Rung, Name: c.Rung, Cells: make([]*pageCell, len(p.Faults))}
		if r, err := lock.Find(c.Rung); err == nil {
			line.Does = r.Does
			if !strings.Contains(c.Rung, "-") {
				line.Name += " " + r.Name
			}
		}
		p.Lines = append(p.Lines, line)
	}
	p.Lines[len(p.Lines)-1].Cells[slices.Index(p.Faults, c.Fault)] = c
}

// link gives the cells their neighbours, and opens the broken ones if they are few.
func (p *page) link() {
	var broken []*pageCell
	for y, line := range p.Lines {
		for x, c := range line.Cells {
			if c == nil {
				continue
			}
			if x > 0 {
				c.Left = line.Cells[x-1]
			}
			if x+1 < len(line.Cells) {
				c.Right = line.Cells[x+1]
			}
			if y > 0 {
				c.Up = p.Lines[y-1].Cells[x]
			}
			if y+1 < len(p.Lines) {
				c.Down = p.Lines[y+1].Cells[x]
			}
			if len(c.Found) > 0 {
				broken = append(broken, c)
			}
			if c.Surprise != "" {
				p.Surprises = append(p.Surprises, c)
			}
		}
	}
	if len(broken) <= maxOpen {
		for _, c := range broken {
			c.Open = true
		}
	}
}

func (f *flags) pageCell(one *task) *pageCell {
	c := &pageCell{ID: one.rung + "-" + unsafe.ReplaceAllString(column(one.cell), "-"), Rung: one.rung,
		Fault: column(one.cell), Exhausted: one.cell.Exhausted, Surprise: one.surprise(), Word: "ok",
		Count: fmt.Sprint(one.cell.Schedules), Label: inWords(one.cell)}
	if !c.Exhausted {
		c.Count += "+"
	}
	if expected, ok := explore.Expect(one.rung, one.cell.Situation, one.cell.Fault); ok && one.bounds.AreUsual() {
		c.Why = expected.Why
	}
	var findings []history.Finding
	for i, found := range one.cell.Found {
		if i == 0 {
			c.Word = ""
		}
		c.Word += letter(found.Verdict)
		findings = append(findings, history.Finding{Verdict: history.Verdict(found.Verdict), Result: history.Broken})
		c.Found = append(c.Found, f.pageFound(found, one.stories[i]))
	}
	if len(findings) == 0 {
		findings = append(findings, history.Finding{Verdict: history.Stock, Result: history.OK})
	}
	c.Class = html.SignOf(findings)
	return c
}

func (f *flags) pageFound(found explore.Counterexample, s explore.Story) pageFound {
	d := newDrawn(s, found.Violation, f.Stock)
	head, rows := columnsOf(s)
	return pageFound{Verdict: string(found.Verdict), Class: html.SignOf(d.cell.Findings),
		Sentence: s.Sentence(found.Violation), Trace: found.Trace.String(), Length: length(found),
		Command: f.command("--replay " + found.Trace.String()), SVG: html.DrawSteps(d.cell, d.steps),
		Head: head, Rows: rows}
}

// letters are those by which the load test names its verdicts in short.
var letters = map[explore.Verdict]string{
	explore.Stock: "S", explore.Exclusion: "E", explore.OwnRelease: "R", explore.Liveness: "L", explore.Fence: "F",
	explore.LostLease: "X", // L is taken
}

func letter(v explore.Verdict) string {
	if l, ok := letters[v]; ok {
		return l
	}
	return strings.ToUpper(string(v)[:1])
}

// facts lists the bounds.
func (f *flags) facts() []fact {
	out := []fact{
		{"bounds", f.inBounds()},
		{"waits", fmt.Sprintf("an order waits %s for the lock, a lease lasts %s", f.Wait, explore.LeaseTTL)},
		{"nodes", fmt.Sprintf("%d for Redlock", f.Nodes)},
	}
	if f.Schedules > 0 {
		out = append(out, fact{"limit", fmt.Sprintf("%d schedules of one rung under one kind of fault", f.Schedules)})
	}
	return append(out, fact{"command", f.command(f.selection())})
}
