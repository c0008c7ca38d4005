package html

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	"time"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/history"
	"stockapi/loadtest/report/drawing"
	"stockapi/loadtest/report/terminal"
)

// The layout: the page, the inside of a cell, and the key to the timelines.
var (
	//go:embed report.gohtml
	layout string
	//go:embed cell.gohtml
	cellLayout string
	//go:embed legend.gohtml
	legendLayout string
)

//go:embed report.js
var script string

//go:embed report.css
var pageStyle string

var pageTemplate = template.Must(template.New("report").Parse(cellLayout + legendLayout + layout))

// A head has the parts that all pages share.
type head struct {
	Drawing    template.CSS // the rules that a saved drawing also needs
	CSS        template.CSS
	Script     template.JS     // of timelines, and of the page
	ScriptHash string          // as a Content-Security-Policy names the script
	Packs      []template.HTML // compressed until shown, in base64
}

// newHead returns the head of a page with a script and styles of its own.
func newHead(script, style string) head {
	all := drawing.Script() + drawing.Viewer + script
	sum := sha256.Sum256([]byte(all))
	return head{Drawing: template.CSS(drawing.Style()), CSS: template.CSS(drawing.ViewerStyle + pageStyle + style),
		Script: template.JS(all), ScriptHash: "sha256-" + base64.StdEncoding.EncodeToString(sum[:])}
}

// A page is the data of the template.
type page struct {
	head
	Title string
	Trace string // of a replay: the page is about nothing else

	Good      bool
	Outcome   string
	Lesson    *lesson
	Few       bool // the cells are few, and come before the matrix
	Class     bool // the cells are the rounds of a stage
	Facts     facts
	Embedded  bool // the run was on the embedded Redis, which is slow
	Surprises []surprise
	Further   int // surprises that only the cells below show
	Matrix    matrix
	Signs     []sign
	Groups    []*group
}

// maxSurprises bounds the surprises at the top of the page, and the cells that are open from the start.
const maxSurprises = 12

// fewCells is the maximum number of cells that are shown before the matrix, all open.
const fewCells = 3

// manyCells is the maximum number of cells in a page that includes all orders.
const manyCells = 100

// A surprise is one unexpected result.
type surprise struct{ Link, Text string }

// Write writes the report of run, whose cells are in these rows, to w. A trial has a page of its own. It does not judge
// the cells again.
func Write(w io.Writer, run *history.Run, rows []*catalog.Row) error {
	if t := terminal.TrialOf(run); t != nil {
		return writeTrial(w, run, t)
	}
	p, err := newPage(run, rows)
	if err != nil {
		return err
	}
	return pageTemplate.Execute(printable{w}, p)
}

// printable replaces control characters, which are not allowed in markup.
type printable struct{ io.Writer }

func (p printable) Write(b []byte) (int, error) {
	clean := make([]byte, 0, len(b))
	for _, c := range b {
		if c < ' ' && c != '\n' && c != '\t' || c == 0x7f {
			clean = append(clean, "\uFFFD"...)
			continue
		}
		clean = append(clean, c)
	}
	_, err := p.Writer.Write(clean)
	return len(b), err
}

func newPage(run *history.Run, rows []*catalog.Row) (*page, error) {
	p := &page{
		head:     newHead(script, ""), // report.js opens cells, and moves between them
		Title:    "stockapi: which locks hold",
		Facts:    conditions(run, rows),
		Embedded: run.Backend.Kind == "embedded", Few: len(rows) <= fewCells,
	}
	if p.Class = len(run.Cells) > 0 && run.Cells[0].Kind == history.Stage; p.Class {
		p.Title = "A class on the stage"
	}
	links, open := names(rows), 0
	var sections []*section
	for i, r := range rows {
		s := newSection(run, r, links[i])
		told := slices.Concat(r.Surprises, r.Unknown)
		if len(told) > 0 && open < maxSurprises || p.Few {
			s.Open, open = true, open+1
		}
		sections = append(sections, s)
		for _, text := range told {
			p.Surprises = append(p.Surprises, surprise{s.ID, clip(text, 600)})
		}
	}
	if n := len(p.Surprises); n > maxSurprises {
		p.Surprises, p.Further = p.Surprises[:maxSurprises], n-maxSurprises
	}
	if len(rows) == 1 && isReplay(rows[0].Shown().Cell) {
		p.ofReplay(rows[0], sections[0])
	}
	p.Groups = groupsOf(sections)
	var err error
	if p.Packs, err = pack(sections, len(rows) > manyCells); err != nil {
		return nil, err
	}
	p.Matrix, p.Signs, p.Lesson = newMatrix(p.Groups, rows), signsIn(p.Groups), lessonOf(p.Groups, rows, p.Few)
	words, good := terminal.Run{
		Rows: rows, Interrupted: run.Interrupted != "", Selected: run.Selected,
	}.Headline()
	if p.Trace == "" {
		p.Good, p.Outcome = good, strings.ToUpper(words[:1])+words[1:]
	}
	return p, nil
}

// conditions lists the backend, the machine and the load of the run.
func conditions(run *history.Run, rows []*catalog.Row) (f facts) {
	m, l := run.Machine, run.Load
	loop, times := "closed loop", 0
	loaded := l.Requests > 0 && !slices.ContainsFunc(run.Cells, isReplay)
	if l.Rate > 0 {
		loop = fmt.Sprintf("%g/s in an open loop", l.Rate)
	}
	for _, r := range rows {
		times = max(times, len(r.Cells))
	}
	f.add(true, "run", "%s, %s", run.ID, run.Started.Format("2 January 2006, 15:04:05 -07:00"))
	f.add(true, "backend", "%s", run.Backend.Text)
	f.add(true, "stockapi", "%s", run.Backend.Stockapi)
	f.add(true, "machine", "%s/%s, %d CPUs, %s", m.OS, m.Arch, m.CPUs, m.Go)
	f.add(loaded, "load", "%d buyers of %d units, %d at once, %s", l.Requests, l.Stock, l.Concurrency, loop)
	f.add(loaded, "times", "wait %s, TTL %s, work %s", l.Wait, l.TTL, l.Work)
	f.add(times > 1, "k of K", "each cell up to %d times; it is as expected only if every repetition was", times)
	f.add(run.Interrupted != "", "interrupted", "%s", clip(run.Interrupted, 300))
	return f
}

// clip shortens a string of a history, which may have any length.
func clip(s string, runes int) string {
	r := []rune(s)
	if len(r) <= runes {
		return s
	}
	return string(r[:runes-1]) + "…"
}

func millis(d time.Duration) string {
	ms := float64(d) / float64(time.Millisecond)
	switch {
	case ms < 10:
		return fmt.Sprintf("%.2f ms", ms)
	case ms < 1000:
		return fmt.Sprintf("%.0f ms", ms)
	default:
		return fmt.Sprintf("%.2f s", ms/1000)
	}
}
