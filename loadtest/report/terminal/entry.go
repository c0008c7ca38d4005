package terminal

import (
	"fmt"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/history"
)

// Letters abbreviate the verdicts in a matrix.
var Letters = map[history.Verdict]string{
	history.Stock: "S", history.Exclusion: "E", history.OwnRelease: "R", history.Liveness: "L",
	history.Fence: "F", history.InOrder: "O", history.Herd: "H",
}

// The entries of cells without a result.
const (
	notRun   = "nr"
	notValid = "inv"
)

// An entry is the text of a cell in the matrix, a few characters.
type entry struct {
	text   string
	below  string // a second line
	colour text.Colors
}

// absent returns the entry of a cell without a row: empty, or not applicable.
func absent(s catalog.Scenario, rung string) entry {
	if _, applies := s.Expected(rung); applies {
		return entry{}
	}
	return entry{text: string(history.NotApplicable)}
}

// entryOf returns the entry of a row; repeat is the planned number of repetitions.
func entryOf(r *catalog.Row, repeat int) entry {
	c := r.Shown()
	switch {
	case c.NotTested != nil:
		return entry{text: notRun, colour: text.Colors{text.FgMagenta}}
	case c.Invalid != "":
		return entry{text: notValid, colour: text.Colors{text.FgMagenta}}
	}
	e := entry{text: inLetters(c.Findings), colour: text.Colors{colourOf(c.Findings)}}
	if c.Longer > 0 {
		e.text += "~"
	}
	if len(r.Surprises)+len(r.Unknown) > 0 {
		e.text += "!"
		e.colour = append(e.colour, text.Bold, text.ReverseVideo)
	}
	if repeat > 1 && r.Met < repeat {
		e.below = fmt.Sprintf("\n%d/%d", r.Met, r.Ran())
	}
	return e
}

// inLetters returns the letters of the broken verdicts and, after a question mark, those of the unknown ones.
func inLetters(fs []history.Finding) string {
	broken, unknown := LettersOf(fs, history.Broken), LettersOf(fs, history.Indeterminate)
	switch {
	case unknown != "":
		return broken + "?" + unknown
	case broken != "":
		return broken
	default:
		return string(history.Worst(fs))
	}
}

// LettersOf returns the letters of the verdicts with that result, in the order of the findings.
func LettersOf(fs []history.Finding, result history.Result) string {
	var out strings.Builder
	for _, f := range fs {
		if f.Result == result {
			out.WriteString(Letters[f.Verdict])
		}
	}
	return out.String()
}

// colourOf returns the colour of a cell, by severity as on the page.
func colourOf(findings []history.Finding) text.Color {
	switch s := history.SeverityOf(findings); {
	case s == history.StockBroken:
		return text.FgRed
	case s == history.LockBroken:
		return text.FgYellow
	case s.Broken():
		return text.FgBlue
	case s == history.Unbroken:
		return text.FgGreen
	default:
		return text.FgMagenta
	}
}

// in renders the entry, in its colour if colour is set.
func (e entry) in(colour bool) string {
	if !colour || len(e.colour) == 0 {
		return e.text + e.below
	}
	return e.colour.Sprint(e.text) + e.below
}
