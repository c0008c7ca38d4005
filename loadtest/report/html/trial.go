package html

import (
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/history"
	"stockapi/loadtest/report/drawing"
	"stockapi/loadtest/report/terminal"
)

// The page of a trial has the words of the terminal, and a timeline of each defect.

var (
	//go:embed trial.gohtml
	trialLayout string
	//go:embed trial.css
	trialStyle string
	//go:embed trial.js
	trialScript string
)

var trialTemplate = template.Must(template.New("trial").Parse(legendLayout + trialLayout))

// A trialPage is the data of the template.
type trialPage struct {
	head
	Title, Shop, Argv string

	Good        bool // no defect was found
	Headline    string
	Limits      []string
	Searched    []string // how far every order of commands was played
	See         string   // where the lines of remedies are
	Interrupted string
	Defects     []trialSaid
	Passport    []string
	Closest     string
	Rows        []trialRow
	Designed    bool        // a row is broken by design
	Kinds       []trialKind // the other statements
	Command     string
	Masked      bool // the command lacks the values of headers
	ExitCode    int
	Conditions  facts

	drawn []*drawing.Drawing
	links map[string]trialLink // of the cells, by name
}

// A trialKind is a heading with the statements below it.
type trialKind struct {
	Title, Note string
	Said        []trialSaid
}

// A trialSaid is a statement about some cells.
type trialSaid struct {
	ID, Text, Cells             string
	Cell                        string // the evidence
	Drawn                       bool   // it has a timeline
	Pack                        int    // of the timeline
	Shown, Remedy, Again, Fault string // of a defect
	Lines                       string // of its remedy
}

// A trialLink leads to the most serious statement about a cell.
type trialLink struct{ id, kind string }

// A trialRow is a line of the matrix, with a link to the statement about its cell.
type trialRow struct {
	Name, Link, Means string
	Found             []trialFound
}

type trialFound struct{ Verdict, Result, Class string }

// designed is the class of a verdict that any lock of this kind breaks: it does not look like a defect.
const designed = "designed"

func writeTrial(w io.Writer, run *history.Run, t *terminal.Trial) error {
	p := newTrialPage(run, t)
	for _, d := range p.drawn {
		text, err := drawing.Compress(d)
		if err != nil {
			return err
		}
		p.Packs = append(p.Packs, template.HTML(text))
	}
	return trialTemplate.Execute(printable{w}, p)
}

func newTrialPage(run *history.Run, t *terminal.Trial) *trialPage {
	p := &trialPage{
		head: newHead(trialScript, trialStyle),
		Shop: brief(t.Cells[0].Rung),
		Good: len(t.Defects()) == 0, Headline: t.Headline(), Limits: t.Limits(), Searched: t.Searched(), See: t.See(),
		Interrupted: shown(run.Interrupted),
		ExitCode:    t.ExitCode(), Conditions: trialConditions(run), links: map[string]trialLink{},
	}
	p.Title = p.Shop + ": " + p.Headline
	if len(t.Shop.Argv) > 0 { // a file of an older loadtest has none
		p.Argv, p.Command = shown(terminal.ShellLine(t.Shop.Argv)), shown(t.Command())
		p.Masked = slices.ContainsFunc(t.Shop.Flags, func(flag string) bool {
			return strings.HasSuffix(flag, ": "+history.MaskedValue)
		})
	}
	for _, part := range t.Shop.Passport {
		p.Passport = append(p.Passport, shown(part))
	}
	if catalog.RungOf(t.Shop.Closest).Number == t.Shop.Closest {
		p.Closest = t.Shop.Closest
	}
	defects := t.Defects()
	p.Defects = p.said("defect", defects, true)
	designs, unknown := p.said("by-design", t.Designs(), true), p.said("unknown", t.Unknown(), false)
	p.Kinds = []trialKind{
		{"By design", "The best lock of this kind breaks here, too.", designs},
		{"Remarks", "These break nothing.", p.said("remark", t.Remarks(), false)},
		{"Unknown", "", unknown},
		{"Not tested", "These cells could not be played, or were inconclusive.",
			p.said("not-tested", t.NotTested(), false)},
	}
	for i, s := range defects {
		d := &p.Defects[i]
		d.Shown, d.Remedy = shown(s.First.Defect.Shown), shown(s.First.Defect.Remedy)
		d.Lines = clip(strings.Join(s.Lines(), "\n"), 2000)
		if d.Fault = shown(s.First.Line); p.Command != "" {
			d.Again = shown(t.Again(s.First))
		}
	}
	for _, row := range t.Rows() {
		link := p.links[row.Cell.Scenario]
		one := trialRow{Name: brief(row.Cell.Scenario), Link: link.id, Means: cmp.Or(row.Means, link.kind)}
		for _, f := range row.Found {
			class := signOfAll(f).Class
			if f.Result == history.Broken && row.IsDesign() {
				class, p.Designed = designed, true
			}
			one.Found = append(one.Found, trialFound{string(f.Verdict), string(f.Result), class})
		}
		p.Rows = append(p.Rows, one)
	}
	return p
}

// said returns statements of a kind, and links their cells to them unless a more serious statement came first. A
// timeline is that of the first cell.
func (p *trialPage) said(kind string, all []*terminal.Said, draws bool) (said []trialSaid) {
	for i, s := range all {
		one := trialSaid{ID: fmt.Sprintf("%s-%d", kind, i+1), Text: shown(s.Text), Cells: shown(s.In()),
			Cell: brief(s.First.Scenario)}
		if one.Drawn = draws && len(s.First.Ops) > 0; one.Drawn {
			one.Pack, p.drawn = len(p.drawn), append(p.drawn, drawing.Of(s.First))
		}
		for _, name := range s.Cells {
			if _, known := p.links[name]; !known {
				p.links[name] = trialLink{one.ID, kind}
			}
		}
		said = append(said, one)
	}
	return said
}

func trialConditions(run *history.Run) (f facts) {
	m := run.Machine
	f.add(true, "tried", "%s", run.Started.Format("2 January 2006, 15:04:05 -07:00"))
	f.add(true, "machine", "%s/%s, %d CPUs, %s", brief(m.OS), brief(m.Arch), m.CPUs, brief(m.Go))
	f.add(run.Loadtest != "", "loadtest", "%s", brief(run.Loadtest))
	return f
}

// shown makes a text printable, and bounds its length: the keys and the answers of a shop may be of any length.
func shown(text string) string { return clip(history.Plain(text), 2000) }

// brief makes a name printable, and bounds its length.
func brief(name string) string { return clip(history.Plain(name), 120) }
