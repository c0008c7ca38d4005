package terminal

import (
	"fmt"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/history"
)

// letters abbreviate the verdicts in the grid.
var letters = map[history.Verdict]string{
	history.Stock: "S", history.Exclusion: "E", history.OwnRelease: "R", history.Liveness: "L",
	history.Fence: "F", history.Order: "O", history.Herd: "H",
}

const legend = "S stock, E exclusion, R own-release, L liveness, F fence, O order, H herd"

// An entry is a cell of the grid, in a few characters.
type entry struct {
	text string
	// mark is "!", "~" or both. below is a second line.
	mark, below string
	colour      text.Colors
	// foreseen is the text of the cell if it comes out as expected. While a run is under way it keeps the column as wide
	// as it will be.
	foreseen string
}

// toCome returns the entry of a selected cell that is not finished.
func toCome(p place) entry { return entry{text: "·", foreseen: foreseen(p)} }

// foreseen returns the letters of what is expected to break in a cell.
func foreseen(p place) string {
	e, _ := catalog.Expected(p.scenario, p.rung)
	var out strings.Builder
	for _, v := range history.Verdicts {
		if e.Results[v] == history.Broken {
			out.WriteString(letters[v])
		}
	}
	return out.String()
}

// absent is a cell that was not selected: empty, or not applicable.
func absent(p place) entry {
	if _, applies := catalog.Expected(p.scenario, p.rung); applies {
		return entry{}
	}
	return entry{text: string(history.NotApplicable)}
}

// entryOf returns the entry of a row whose cells were to be run that often.
func entryOf(r *catalog.Row, repeat int) entry {
	c := r.Shown()
	if c.NotRun != "" {
		return entry{text: notRun, colour: text.Colors{text.FgYellow}}
	}
	if catalog.Invalid(c) != "" {
		return entry{text: notValid, colour: text.Colors{text.FgYellow}}
	}
	e := entry{text: inLetters(c.Findings), colour: colourOf(c.Findings)}
	if c.Longer > 0 {
		e.mark += "~"
	}
	if len(r.Surprises)+len(r.Unknown) > 0 {
		e.mark += "!"
		e.colour = text.Colors{text.FgYellow, text.Bold}
	}
	if repeat > 1 && r.Met < repeat {
		e.below = fmt.Sprintf("%d/%d", r.Met, r.Ran())
	}
	return e
}

// inLetters returns the letters of the broken verdicts, and after a question mark those that are unknown.
func inLetters(fs []history.Finding) string {
	broken, unknown := lettersOf(fs, history.Broken), lettersOf(fs, history.Indeterminate)
	switch {
	case unknown != "":
		return broken + "?" + unknown
	case broken != "":
		return broken
	default:
		return string(history.Worst(fs))
	}
}

func lettersOf(fs []history.Finding, result history.Result) string {
	var out strings.Builder
	for _, f := range fs {
		if f.Result == result {
			out.WriteString(letters[f.Verdict])
		}
	}
	return out.String()
}

func colourOf(fs []history.Finding) text.Colors {
	switch history.Worst(fs) {
	case history.Broken:
		return text.Colors{text.FgRed}
	case history.OK:
		return text.Colors{text.FgGreen}
	default:
		return text.Colors{text.FgYellow}
	}
}

// The entries of cells that say nothing of their rungs.
const (
	notRun   = "n/r"
	notValid = "inv"
)

// lines returns the entry's lines.
func (e entry) lines() []string {
	if e.below == "" {
		return []string{e.text + e.mark}
	}
	return []string{e.text + e.mark, e.below}
}

// in renders the entry, with each of its lines in its colour if wanted.
func (e entry) in(colour bool) string {
	lines := e.lines()
	for i := range lines {
		lines[i] = e.painted(lines[i], colour)
	}
	return strings.Join(lines, "\n")
}

func (e entry) painted(text string, colour bool) string {
	if !colour || len(e.colour) == 0 || strings.TrimSpace(text) == "" {
		return text
	}
	return e.colour.Sprint(text)
}

// short returns the entry in two letters if that is possible, and one character for its mark. It does not say which
// verdicts are unknown.
func (e entry) short() string {
	letters := map[string]string{notRun: "nr", notValid: "nv"}[e.text]
	if letters == "" {
		letters, _, _ = strings.Cut(e.text, "?")
		if letters != e.text {
			letters += "?"
		}
	}
	if e.mark == "" {
		return letters
	}
	return letters + e.mark[len(e.mark)-1:]
}

// tiny returns the entry in one character: "!" if it is not as expected, else the first letter.
func (e entry) tiny() string {
	if strings.Contains(e.mark, "!") {
		return "!"
	}
	if e.text == string(history.OK) {
		return "+"
	}
	return text.Trim(e.text, 1)
}
