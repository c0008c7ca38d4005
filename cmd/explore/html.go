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
	"stockapi/loadtest/catalog"
	"stockapi/loadtest/history"
	"stockapi/loadtest/report/html"
	"stockapi/loadtest/report/terminal"
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

// maxOpen is the greatest number of cells of which those with counterexamples are open from the start.
const maxOpen = 8

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
	p := &page{Sheet: html.NewSheet(), Title: "explore: every order of two clients' commands", Bounds: []fact{
		{"bounds", f.inBounds()},
		{"waits", fmt.Sprintf("an order waits %s for the lock, a lease lasts %s", explore.LongestWait, explore.LeaseTTL)},
	}}
	if f.Schedules > 0 {
		p.Bounds = append(p.Bounds, fact{"limit", count(f.Schedules, "schedule") + " of a rung under one kind of fault"})
	}
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
		c := f.pageCell(one)
		c.Open = len(c.Found) > 0 && len(tasks) <= maxOpen
		if c.Surprise != "" {
			p.Surprises = append(p.Surprises, c)
		}
		p.add(c)
	}
	for _, v := range explore.Verdicts {
		p.Letters = append(p.Letters, fact{terminal.Letters[v], string(v)})
	}
	return p
}

// add puts a cell into the line of its rung. The cells come rung by rung.
func (p *page) add(c *pageCell) {
	if n := len(p.Lines); n == 0 || p.Lines[n-1].ID != "rung-"+c.Rung {
		line := pageLine{ID: "rung-" + c.Rung, Name: c.Rung, Cells: make([]*pageCell, len(p.Faults))}
		if r, err := lock.Find(c.Rung); err == nil {
			line.Does, line.Name = r.Does, catalog.RungTitle(c.Rung, r.Name)
		}
		p.Lines = append(p.Lines, line)
	}
	p.Lines[len(p.Lines)-1].Cells[slices.Index(p.Faults, c.Fault)] = c
}

func (f *flags) pageCell(one *task) *pageCell {
	c := &pageCell{ID: one.rung + "-" + unsafe.ReplaceAllString(column(one.cell), "-"), Rung: one.rung,
		Fault: column(one.cell), Exhausted: one.cell.Exhausted, Surprise: one.surprise(), Word: "ok",
		Count: fmt.Sprint(one.cell.Schedules), Label: inWords(one.cell)}
	if !c.Exhausted {
		c.Count += "+"
	}
	if one.bounds.AreUsual() {
		_, c.Why, _ = catalog.ExpectSchedules(one.rung, one.cell.Situation, one.cell.Fault)
	}
	var findings []history.Finding
	for i, found := range one.cell.Found {
		if i == 0 {
			c.Word = ""
		}
		c.Word += terminal.Letters[found.Verdict]
		findings = append(findings, history.Finding{Verdict: found.Verdict, Result: history.Broken})
		c.Found = append(c.Found, pageFoundOf(found, one.stories[i]))
	}
	if len(findings) == 0 {
		findings = append(findings, history.Finding{Verdict: history.Stock, Result: history.OK})
	}
	c.Class = html.SignOf(findings)
	return c
}

func pageFoundOf(found explore.Counterexample, s explore.Story) pageFound {
	cell, steps := s.Cell(found.Violation)
	head, rows := columnsOf(s)
	return pageFound{Verdict: string(found.Verdict), Class: html.SignOf(cell.Findings),
		Sentence: s.Sentence(found.Violation), Trace: found.Trace.String(), Length: length(found),
		Command: "go run ./cmd/explore --replay " + found.Trace.String(), SVG: html.DrawSteps(cell, steps),
		Head: head, Rows: rows}
}
