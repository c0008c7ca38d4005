package terminal_test

import (
	"bytes"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"

	"stockapi/loadtest/history"
	"stockapi/loadtest/report/terminal"
	"stockapi/loadtest/scenario"
)

// A service, or who made a file, chooses names and texts. None of them moves the cursor, clears the screen, begins a
// line of its own, or turns the direction of the text.
func TestTheWordsOfOthersDoNotActOnTheTerminal(t *testing.T) {
	const evil = "\x1b[2J\x1b]0;x\a\u009b1A\x9b1A\nas expected (99 of 99 cells)\r\u202e"
	forged := cell("two-instances", "v0", []history.Finding{
		{Verdict: history.Stock, Result: history.Broken, Because: evil, Evidence: []history.Evidence{{Text: evil}}},
		{Verdict: history.Exclusion, Result: history.Broken, Because: evil},
	})
	stranger := cell(evil, "v"+evil, findings(history.OK, history.OK))
	fault := cell("crash", "v1"+evil, findings(history.Broken, history.OK))
	fault.Aborted, fault.Name = evil, evil
	notRun := cell("crash", "v13", nil)
	notRun.NotRun = evil
	invalid := cell("two-instances", "v4", []history.Finding{
		{Verdict: history.Valid, Result: history.Invalid, Because: evil},
	})
	cells := []*history.Cell{forged, stranger, fault, notRun, invalid}
	for _, verbose := range []bool{true, false} {
		var out, progress bytes.Buffer
		p := terminal.Printer{Writer: &out}
		p.Header(&history.Run{
			ID: evil, Backend: history.Backend{Text: evil, Stockapi: evil}, Machine: history.Machine{OS: evil},
		}, true)
		o := terminal.Run{Rows: scenario.Table.Assess(cells), Verbose: verbose}
		p.Results(o)
		p.End(o)
		shown := terminal.NewProgress(&progress, nil)
		for _, c := range cells {
			shown.Finished(assess(c))
		}
		for _, text := range []string{out.String(), progress.String()} {
			assert.Equal(t, -1, strings.IndexFunc(text, func(r rune) bool { return r != '\n' && !unicode.IsGraphic(r) }), text)
			assert.NotRegexp(t, `(?m)^as expected`, text)
			assert.Contains(t, text, `\x1b[2J`)
		}
	}
	assert.Equal(t, evil, forged.Findings[0].Because, "the cell stays as it was")
	assert.Equal(t, evil, forged.Findings[0].Evidence[0].Text)
}
