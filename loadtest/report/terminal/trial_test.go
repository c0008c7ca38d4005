package terminal_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"

	"stockapi/loadtest/history"
	"stockapi/loadtest/report/terminal"
)

// A cell is replayed as in the trial, without the other cells, and without overwriting the trial's files.
func TestAgainReplaysOneCell(t *testing.T) {
	named := &history.Cell{Scenario: "reply-lost 1", Line: "a<acquire.lose-a"}
	own := &history.Cell{Scenario: "a>write.late-a", Line: "a>write.late-a"}
	for _, one := range []struct {
		cell  *history.Cell
		flags []string
		want  string
	}{
		{named, nil, "loadtest try --only 'reply-lost 1' --no-out -- shop.py"},
		{named, []string{"--quick", "--only", "pause", "--only=late", "--out", "o", "--units", "1", "--no-out"},
			"loadtest try --only 'reply-lost 1' --no-out --units 1 -- shop.py"},
		{own, []string{"--play", "a>write", "--play=a>read", "--stock", "SET it's {n}"},
			`loadtest try --play 'a>write.late-a' --no-out --stock 'SET it'\''s {n}' -- shop.py`},
	} {
		found := terminal.Trial{Shop: history.Shop{Flags: one.flags, Argv: []string{"shop.py"}}}
		assert.Equal(t, one.want, found.Again(one.cell))
	}
}

func TestRemedyIsFollowedByItsCode(t *testing.T) {
	printed := func(c *history.Cell) string {
		var out bytes.Buffer
		(&terminal.Trial{Cells: []*history.Cell{c}}).Print(&out, false)
		return out.String()
	}
	const see = "\ncode for each remedy: docs/try.md#remedies\n"
	defect := &history.Defect{Cause: "a cause", Remedy: "a remedy", Shown: "this",
		Lines: []string{"if so then", "  \x1bdo", "", "end"}}
	out := printed(&history.Cell{Scenario: "pause", Defect: defect})
	assert.Contains(t, out, "  a remedy\n      if so then\n        \\x1bdo\n\n      end\n  again: --only pause\n")
	numbered := &history.Cell{Scenario: "after-release", Line: "a>db9.b>end.a>end", Defect: defect}
	assert.Contains(t, printed(numbered), "\n  again: --only after-release\n", "once fixed, request 9 may be another")
	own := &history.Cell{Scenario: "a>db9.b>end", Line: "a>db9.b>end", Defect: defect}
	assert.Contains(t, printed(own), "\n  again: --play 'a>db9.b>end'\n")
	assert.Contains(t, out, see)
	assert.Contains(t, printed(&history.Cell{Scenario: "pause", Design: "renew it"}), see)
	assert.NotContains(t, printed(&history.Cell{Scenario: "pause"}), see)
}

// A line that the user gave, and that was not judged, is no success.
func TestTrialOfLineThatWasNotJudged(t *testing.T) {
	const line = "a>write.crash-a"
	cellWith := func(r history.Result) *history.Cell {
		return &history.Cell{Kind: history.Trial, Scenario: "crash 2", Line: line,
			Findings: []history.Finding{{Verdict: history.Stock, Result: r}}}
	}
	untested := cellWith(history.OK)
	untested.NotTested = &history.NotTested{Reason: "Anna did not write"}
	for _, one := range []struct {
		flags []string
		cell  *history.Cell
		code  int
	}{
		{[]string{"--play", line}, cellWith(history.OK), 0},
		{[]string{"--play", line}, cellWith(history.Indeterminate), 2},
		{[]string{"--quick", "--play=" + line}, cellWith(history.Indeterminate), 2},
		{[]string{"--play", line}, untested, 2},
		{[]string{"--play", line}, cellWith(history.Broken), 0}, // by design
		{[]string{"--only", "crash"}, cellWith(history.Indeterminate), 0},
		{[]string{"--order", line}, untested, 0},
	} {
		trial := &terminal.Trial{Shop: history.Shop{Flags: one.flags}, Cells: []*history.Cell{cellWith(history.OK), one.cell}}
		trial.Cells[0].Line = "a>write"
		assert.Equal(t, one.code, trial.ExitCode(), one)
	}
}
