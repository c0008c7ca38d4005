package terminal_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

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
	assert.Regexp(t, `v0 nolock +2 BROKEN stock +2 +0 +0 +0 +0 +1 +0 +1 +8 +1\.23 +1235 +6172\.5`, text)
	assert.Contains(t, figures(0, true, cells...), "\x1b[31mBROKEN stock\x1b[0m")
}

// The outcomes of orders fit a narrow terminal; speed is printed only with --verbose.
func TestColumnsOfACrowd(t *testing.T) {
	head := func(all bool) string {
		var out bytes.Buffer
		rows := scenario.Table.Assess([]*history.Cell{
			breaks("two-instances", "v0.5", "x"), asExpected("two-instances", "v13"),
		})
		terminal.Printer{Writer: &out, Width: 80}.Crowds(rows, all)
		assert.True(t, all || widest(out.String()) <= 80, out.String())
		_, text, _ := strings.Cut(out.String(), "\n  rung ")
		text, _, _ = strings.Cut(text, "\n")
		return strings.Join(strings.Fields(text), " ")
	}
	assert.Equal(t, "verdict sold refused busy unknown left twice", head(false))
	assert.Equal(t, "inst verdict sold refused busy not-sold not-sent unknown left twice req/s p50 ms p99 ms cmd/sale",
		head(true))
}

// Figures of more crowds than fit a screen are printed only with --verbose, or if there is one scenario.
func TestFiguresOfManyCrowds(t *testing.T) {
	one, two := cellsOf(t, []string{"one-instance"}, nil), cellsOf(t, []string{"one-instance", "two-instances"}, nil)
	assert.Contains(t, printed(terminal.Printer{}, terminal.Run{}, one...), " refused ")
	assert.NotContains(t, printed(terminal.Printer{}, terminal.Run{}, two...), " refused ")
	assert.Contains(t, printed(terminal.Printer{}, terminal.Run{Verbose: true}, two...), " refused ")
}
