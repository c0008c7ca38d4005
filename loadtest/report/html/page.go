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

// The colours and what a timeline looks like are shared with pictures.
var (
	//go:embed palette.css
	palette string
	//go:embed timeline.css
	timelineStyle string
	//go:embed report.css
	pageStyle string
)

var pageTemplate = template.Must(template.New("report").Parse(cellLayout + legendLayout + layout))

// page is the data of the template.
type page struct {
	Title      string
	CSS        template.CSS
	Script     template.JS
	ScriptHash string // as the page's Content-Security-Policy names its one script
	Good       bool
	Outcome    string
	Findings   []finding
	Facts      []fact
	Notes      []string
	Surprises  []surprise
	Further    int // surprises that only the cells below show
	Matrix     matrix
	Signs      []sign
	Recovery   *recovery
	Groups     []*group
}

// maxSurprises bounds the surprises that the top of the page shows, and the cells that are open from the start.
const maxSurprises = 12

// fewCells is the greatest number of cells that are all open from the start.
const fewCells = 4

// recovery is the table of how soon requests got through after a fault, with its title and note.
type recovery struct {
	Title, Note string
	*terminal.Recovery
}

func newRecovery(rows []*catalog.Row) *recovery {
	table := terminal.NewRecovery(rows)
	if table == nil {
		return nil
	}
	return &recovery{terminal.RecoveryTitle, terminal.RecoveryNote, table}
}

type fact struct{ Name, Value string }

// surprise is one thing that is not as expected.
type surprise struct{ Link, Text string }

// PorcupinePage is Porcupine's page of a cell: its file, as a path from the report, or the reason why there is none.
type PorcupinePage struct{ File, NoPicture string }

// Write writes the report of run to w, with links to Porcupine's pages of its cells. It takes the findings of the cells
// as they are.
func Write(w io.Writer, run *history.Run, pages map[*history.Cell]PorcupinePage) error {
	return pageTemplate.Execute(printable{w}, newPage(run, pages))
}

// printable replaces control characters, which markup must not contain.
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

func newPage(run *history.Run, pages map[*history.Cell]PorcupinePage) *page {
	rows := catalog.Assess(run.Cells)
	p := &page{
		Title: "stockapi: which locks hold", CSS: template.CSS(palette + timelineStyle + pageStyle),
		Script: template.JS(script), ScriptHash: hashOf(script), Facts: facts(run, rows), Notes: notes(run),
	}
	links, open := Names(rows), 0
	var sections []*section
	for i, r := range rows {
		s := newSection(run, r, links[i])
		s.Porcupine = pages[r.Shown()]
		told := slices.Concat(r.Surprises, r.Unknown)
		if len(told) > 0 && open < maxSurprises || len(rows) <= fewCells {
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
	p.Groups = groupsOf(sections)
	p.Matrix, p.Signs, p.Findings = newMatrix(p.Groups, rows), signsIn(p.Groups), findings(p.Groups)
	p.Recovery = newRecovery(rows)
	words, good := terminal.Outcome{
		Rows: rows, Interrupted: run.Interrupted != "", Selected: run.Selected,
	}.Headline()
	p.Good, p.Outcome = good, capital(words)
	return p
}

// hashOf returns a script's hash as a Content-Security-Policy names it.
func hashOf(script string) string {
	sum := sha256.Sum256([]byte(script))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// facts lists how the run was made: backend, machine, load.
func facts(run *history.Run, rows []*catalog.Row) []fact {
	m, l := run.Machine, run.Load
	out := []fact{
		{"run", fmt.Sprintf("%s, %s", run.ID, run.Started.Format("2 January 2006, 15:04:05 -07:00"))},
		{"backend", run.Backend.Text},
		{"stockapi", run.Backend.Stockapi},
		{"machine", fmt.Sprintf("%s/%s, %d CPUs, %s", m.OS, m.Arch, m.CPUs, m.Go)},
		{"load", fmt.Sprintf("%d buyers of %d units, %d at once, %s", l.Requests, l.Stock, l.Concurrency, loop(l))},
		{"times", fmt.Sprintf("wait %s, TTL %s, work %s", l.Wait, l.TTL, l.Work)},
		{"k of K", repeated(rows)},
	}
	if run.Interrupted != "" {
		out = append(out, fact{"interrupted", clip(run.Interrupted, 300)})
	}
	return out
}

func loop(l history.Load) string {
	if l.Rate > 0 {
		return fmt.Sprintf("%g/s in an open loop", l.Rate)
	}
	return "closed loop"
}

// repeated states how often each cell was run.
func repeated(rows []*catalog.Row) string {
	most := 0
	for _, r := range rows {
		most = max(most, len(r.Cells))
	}
	if most <= 1 {
		return "each cell once"
	}
	return fmt.Sprintf("each cell up to %d times; it is as expected only if it was so each time", most)
}

func notes(run *history.Run) []string {
	out := []string{"ok means that no violation was found, not that there can be none."}
	out = append(out,
		"Load and times are those of the contention scenarios; each fault scenario has its own, which its timeline shows.")
	if run.Backend.Kind == "embedded" {
		out = append(out,
			"Do not compare the rungs' speed here: Lua is about 10 times slower on the embedded Redis than on Redis.")
	}
	return out
}

// clip shortens a string of a history, which may be of any length.
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
