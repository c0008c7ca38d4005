package terminal_test

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/history"
	"stockapi/loadtest/report/terminal"
	"stockapi/loadtest/scenario"
)

func figures(width int, colour bool, cells ...*history.Cell) string {
	var out bytes.Buffer
	terminal.Printer{Writer: &out, Width: width, Colour: colour}.Crowds(scenario.Table.Assess(cells), true)
	return out.String()
}

func TestFiguresOfACrowd(t *testing.T) {
	cells := []*history.Cell{
		cell("two-instances", "v0", findings(history.Broken, history.NotApplicable)),
		cell("two-instances", "v0.5", findings(history.Broken, history.Broken)),
		cell("two-instances", "v5-as-printed", findings(history.OK, history.Indeterminate)),
	}
	text := figures(0, false, cells...)
	assert.NotContains(t, text, "\x1b")
	assert.Contains(t, text, "BROKEN stock, exclusion")
	assert.Contains(t, text, "! v5-as-printed")
	assert.Contains(t, text, "unknown exclusion")
	assert.Regexp(t, `v0 nolock +2 BROKEN stock +2 +0 +0 +1 +0 +1 +8 +1\.23 +1235 +6172\.5`, text)
	assert.NotContains(t, text, "met", "no cell was repeated")
	assert.LessOrEqual(t, widest(text), 120, text)
	assert.Contains(t, figures(0, true, cells...), "\x1b[31mBROKEN stock\x1b[0m")
}

// A narrow terminal drops columns, the last one first. What the lessons are about stays.
func TestColumnsAreDroppedInOrder(t *testing.T) {
	head := func(width int) string {
		text := figures(width, false, asExpected("two-instances", "v4"), told("two-instances", "v0.5", "x"))
		assert.LessOrEqual(t, widest(text), max(width, 64), text)
		_, text, _ = strings.Cut(text, "\n  rung ")
		text, _, _ = strings.Cut(text, "\n")
		return strings.Join(strings.Fields(text), " ")
	}
	assert.Equal(t, "inst verdict sold refused busy unknown left twice req/s p50 ms p99 ms cmd/sale", head(120))
	assert.Equal(t, "inst verdict sold refused busy unknown left twice req/s", head(90))
	assert.Equal(t, "verdict sold left twice", head(40))
}

// Figures of more crowds than a screen holds are printed if all is asked for, or there is one scenario.
func TestFiguresAreOfFewCrowds(t *testing.T) {
	one, two := cellsOf(t, []string{"one-instance"}, nil), cellsOf(t, []string{"one-instance", "two-instances"}, nil)
	assert.Contains(t, printed(terminal.Printer{}, terminal.Run{}, one...), "cmd/sale")
	assert.NotContains(t, printed(terminal.Printer{}, terminal.Run{}, two...), "cmd/sale")
	assert.Contains(t, printed(terminal.Printer{}, terminal.Run{Verbose: true}, two...), "cmd/sale")
}

// docs/results.md shows the matrix as a run prints it in which all cells are as expected.
func TestTheResultsShowTheMatrix(t *testing.T) {
	document, err := os.ReadFile("../../../docs/results.md")
	require.NoError(t, err)
	_, grid, found := strings.Cut(printed(terminal.Printer{}, terminal.Run{}, cellsOf(t, nil, nil)...), "what broke:")
	require.True(t, found)
	grid, _, _ = strings.Cut(grid, "--verbose")
	assert.Contains(t, string(document), grid)
}

// docs/results.md has the figures of every rung.
func TestTheResultsHaveEveryRung(t *testing.T) {
	document, err := os.ReadFile("../../../docs/results.md")
	require.NoError(t, err)
	for _, r := range catalog.Rungs {
		assert.Regexp(t, `(?m)^  `+regexp.QuoteMeta(r.Number)+` .* 2 (ok|BROKEN)`, string(document))
	}
}
