package terminal_test

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/history"
	"stockapi/loadtest/report/terminal"
	"stockapi/loadtest/scenario"
)

// These tests are about the layout of a grid, so they choose scenarios and rungs, and do not depend on the table's
// size.
var (
	someFaults = []string{"crash", "late-release", "pause", "write-only-fence"}
	someRungs  = []string{
		"v1", "v1.5", "v2", "v3", "v4", "v5", "v5-as-printed", "v5.5", "v6", "v15", "v15-write-only", "v16", "v17",
	}
)

func matrix(width int, cells ...*history.Cell) string {
	var out bytes.Buffer
	terminal.Printer{Writer: &out, Width: width}.Matrix(scenario.Table.Assess(cells))
	return out.String()
}

func TestMatrix(t *testing.T) {
	cells := append(cellsOf(t, []string{"two-instances"}, []string{"v0", "v4"}), cellsOf(t, someFaults, someRungs)...)
	of := func(name, rung string) *history.Cell {
		for _, c := range cells {
			if c.Scenario == name && c.Rung == rung {
				return c
			}
		}
		return nil
	}
	*of("crash", "v1") = *needs("a system that can stop a process", "crash", "v1")
	of("crash", "v1.5").Findings[0].Result = history.Broken
	of("crash", "v2").Findings[3].Result = history.Indeterminate
	of("crash", "v3").Longer = 4
	of("pause", "v4").Findings[3].Result = history.Indeterminate
	of("pause", "v5").Findings[0].Result = history.OK
	text := matrix(120, cells...)
	assert.Contains(t, text, "what broke: S stock, E exclusion, R own-release, L liveness; – does not apply, "+
		"? unknown, nr not run, ! not as\n  expected, ~ longer leases\n")
	assert.Regexp(t, `(?m)^ +v0 +v1 +v1\.5 +v2 +v3 +v4 +v5 +v5- +v5\.5 +v6 +v15 +v15- +v16 +v17\n`+
		` +as- +write-\n +printed +only$`, text)
	assert.Regexp(t, `(?m)^two-instances +S +ok *$`, text, "not selected is blank")
	assert.Regexp(t, `(?m)^crash +– +nr +SL! +\?L! +ok~ +ok .* ok$`, text)
	assert.Regexp(t, `(?m)^late-release +– +ok +SER +SER +SE .* –$`, text)
	assert.Regexp(t, `(?m)^pause +– +ok +SE +SE +SE +SE\?L! +E! `, text)
	assert.Contains(t, text, "\nnot run, 1: needs a system that can stop a process\n")
	assert.NotContains(t, text, "each cell was run")
	assert.NotContains(t, text, "0/1")
	assert.Contains(t, matrix(120, asExpected("pause", "v17")), "what broke: nothing\n")
}

// Every cell of a long ladder is in the grid once, at any width.
func TestLongLadderWrapsIntoBlocks(t *testing.T) {
	cells := cellsOf(t, nil, nil)
	for width, blocks := range map[int]int{80: 3, 120: 2, 250: 1} {
		text := matrix(width, cells...)
		assert.LessOrEqual(t, widest(text), width, text)
		assert.Equal(t, blocks, strings.Count(text, "─\n"), "%d\n%s", width, text)
		entries := map[string][]string{}
		for line := range strings.Lines(text) {
			if words := strings.Fields(line); len(words) > 1 {
				entries[words[0]] = append(entries[words[0]], words[1:]...)
			}
		}
		for _, s := range scenario.Table {
			assert.Len(t, entries[s.Name], len(catalog.Rungs), s.Name)
			for i, r := range catalog.Rungs {
				assert.Equal(t, inLetters(s.Name, r.Number), entries[s.Name][i], s.Name+" "+r.Number)
			}
		}
	}
}

// inLetters returns the letters of the verdicts that are expected to break.
func inLetters(scenario, rung string) string {
	e, applies := expected(scenario, rung)
	if !applies {
		return "–"
	}
	var out []byte
	for i, v := range history.Verdicts {
		if e.Results[v] == history.Broken {
			out = append(out, "SERLFOH"[i])
		}
	}
	if out == nil {
		return "ok"
	}
	return string(out)
}

// Every cell is repeated, and the last repetition of each is a surprise.
func TestMatrixIsNoWiderWithRepetitions(t *testing.T) {
	var cells []*history.Cell
	for range 99 {
		cells = append(cells, cellsOf(t, someFaults, someRungs)...)
	}
	text := matrix(120, cells...)
	assert.Contains(t, text, "each cell was run 99 times; where not all runs were as expected,")
	assert.NotContains(t, text, "99/99")
	last := cellsOf(t, someFaults, someRungs)
	for _, c := range last {
		c.Findings[4].Result = history.Broken
	}
	text = matrix(120, append(cells, last...)...)
	assert.Regexp(t, `(?m)^crash +LF! +LF! +F! .*\n +99/100 99/100 99/100 `, text)
	assert.Equal(t, len(last), strings.Count(text, "99/100"))
}

func TestMatrixColours(t *testing.T) {
	var out bytes.Buffer
	terminal.Printer{Writer: &out, Colour: true}.Matrix(scenario.Table.Assess([]*history.Cell{
		asExpected("crash", "v1"), asExpected("crash", "v4"), breaks("crash", "v5", "x"),
		asExpected("pause", "v4"), asExpected("pause", "v15"),
	}))
	for _, want := range []string{"\x1b[34mL\x1b[0m", "\x1b[32mok\x1b[0m", "\x1b[31;1;7mS!\x1b[0m", "\x1b[31mSE\x1b[0m",
		"\x1b[33mE\x1b[0m"} {
		assert.Contains(t, out.String(), want)
	}
}

// Of a matrix longer than the screen only the end stays in view, so it repeats the heading and the legend.
func TestLongMatrixRepeatsItsHeading(t *testing.T) {
	rows := scenario.Table.Assess(cellsOf(t, someFaults, []string{"v1", "v4"}))
	for height, headings := range map[int]int{0: 1, 24: 1, 10: 2} {
		var out bytes.Buffer
		terminal.Printer{Writer: &out, Width: 80, Height: height}.Matrix(rows)
		assert.Len(t, regexp.MustCompile(`(?m)^ +v1 v4$`).FindAllString(out.String(), -1), headings, out.String())
		assert.Equal(t, headings, strings.Count(out.String(), "what broke: "))
	}
	var out bytes.Buffer // each of the blocks has its heading
	rows = scenario.Table.Assess(cellsOf(t, []string{"pause", "slow-work"}, nil))
	terminal.Printer{Writer: &out, Width: 80, Height: 20}.Matrix(rows)
	assert.Equal(t, 2, strings.Count(out.String(), "what broke: "), out.String())
}
