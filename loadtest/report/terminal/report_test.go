package terminal_test

import (
	"bytes"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/history"
	"stockapi/loadtest/report/terminal"
)

func findings(stock, exclusion history.Result) []history.Finding {
	return []history.Finding{
		{Verdict: history.Stock, Result: stock, Because: "a sold unit 7 to order 1; b sold unit 7 again to order 2"},
		{Verdict: history.Exclusion, Result: exclusion},
		{Verdict: history.OwnRelease, Result: history.NotApplicable},
		{Verdict: history.Liveness, Result: history.OK},
		{Verdict: history.Fence, Result: history.NotApplicable},
	}
}

func cell(name, rung string, fs []history.Finding) *history.Cell {
	var left, commands int64 = 0, 12345
	return &history.Cell{
		Scenario: name, Rung: rung, Name: catalog.NameOf(rung), Left: &left, Commands: &commands, Findings: fs,
		Elapsed: 400 * time.Millisecond, Latency: history.Latency{P50: 1234567, P99: 1234567890},
		Instances: []history.Instance{{}, {}},
		Ops: []history.Op{
			{Phase: history.Buy, Outcome: history.Sold, Units: []int64{7}},
			{Phase: history.Buy, Outcome: history.Sold, Units: []int64{7}},
			{Phase: history.Buy, Outcome: history.Unknown},
		},
	}
}

func rows() []*catalog.Row {
	notRun := cell("two-instances", "v6", nil)
	notRun.NotRun = "needs nodes"
	return catalog.Assess([]*history.Cell{
		cell("two-instances", "v0", findings(history.Broken, history.NotApplicable)),
		cell("two-instances", "v0.5", findings(history.Broken, history.Broken)),
		cell("two-instances", "v5-as-printed", findings(history.OK, history.Indeterminate)),
		notRun,
	})
}

func TestMatrix(t *testing.T) {
	var out bytes.Buffer
	terminal.Printer{Writer: &out}.Matrix(rows())
	text := out.String()
	assert.NotContains(t, text, "\x1b")
	assert.Contains(t, text, "BROKEN stock, exclusion")
	assert.Contains(t, text, "! v5-as-printed")
	assert.Contains(t, text, "unknown exclusion")
	assert.Regexp(t, `v6 redlock +needs nodes *\n`, text)
	assert.Regexp(t, `v0 nolock +2 BROKEN stock +2 +0 +0 +1 +0 +1 +8 +1\.23 +1235 +6172\.5`, text)
	for line := range strings.Lines(text) {
		assert.LessOrEqual(t, utf8.RuneCountInString(strings.TrimRight(line, " \n")), 120, line)
	}
}

func TestMatrixInColour(t *testing.T) {
	var plain, colour bytes.Buffer
	terminal.Printer{Writer: &plain}.Matrix(rows())
	terminal.Printer{Writer: &colour, Colour: true}.Matrix(rows())
	assert.Contains(t, colour.String(), "\x1b[31mBROKEN stock\x1b[0m")
}

func TestTheLastWords(t *testing.T) {
	var out bytes.Buffer
	good := rows()[:2]
	assert.True(t, terminal.Printer{Writer: &out}.Summary(terminal.Outcome{Rows: good}))
	assert.Equal(t, "as expected (2 of 2 cells)\n", out.String())
	out.Reset()
	assert.False(t, terminal.Printer{Writer: &out}.Summary(terminal.Outcome{Rows: rows()}))
	assert.Contains(t, out.String(), "NOT as expected (2 of 3 cells are; 1 not run):\n")
	assert.Contains(t, out.String(),
		"  two-instances v5-as-printed as-printed: exclusion was expected to be ok and is unknown\n")
}
