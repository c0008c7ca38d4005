package terminal_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/history"
	"stockapi/loadtest/report/terminal"
)

// asExpected makes a cell in which everything is as the table says, or ok where it says nothing.
func asExpected(name, rung string) *history.Cell {
	c := cell(name, rung, nil)
	c.TTL = 400 * time.Millisecond
	e, known := catalog.Expected(name, rung)
	for _, v := range history.Verdicts {
		f := history.Finding{Verdict: v, Result: e.Results[v], Because: "so"}
		if !known {
			f.Result = history.OK
		}
		c.Findings = append(c.Findings, f)
	}
	return c
}

// These tests are of how a grid is drawn, so they choose its scenarios and rungs and leave the table to grow.
var (
	someFaults = []string{"crash", "late-release", "pause", "write-only-fence"}
	someRungs  = []string{
		"v1", "v1.5", "v2", "v3", "v4", "v5", "v5-as-printed", "v5.5", "v6", "v15", "v15-write-only", "v16", "v17",
	}
)

// faults makes a cell of each of those scenarios with each of those rungs to which it applies.
func faults(t *testing.T) []*history.Cell {
	t.Helper()
	specs, err := catalog.Select(someFaults, someRungs, 2, 1)
	require.NoError(t, err)
	var cells []*history.Cell
	for _, s := range specs {
		cells = append(cells, asExpected(s.Scenario.Name, s.Rung.Number))
	}
	return cells
}

func matrix(t *testing.T, cells []*history.Cell) string {
	t.Helper()
	var out bytes.Buffer
	terminal.Printer{Writer: &out}.Matrix(catalog.Assess(cells))
	assert.LessOrEqual(t, widest(out.String()), 120, out.String())
	return out.String()
}

func widest(text string) int {
	width := 0
	for line := range strings.Lines(text) {
		width = max(width, utf8.RuneCountInString(strings.TrimRight(line, "\n")))
	}
	return width
}

func TestTheGrid(t *testing.T) {
	cells := faults(t)
	of := func(name, rung string) *history.Cell {
		for _, c := range cells {
			if c.Scenario == name && c.Rung == rung {
				return c
			}
		}
		return nil
	}
	*of("crash", "v1") = history.Cell{Scenario: "crash", Rung: "v1", NotRun: "needs a system that can stop a process"}
	of("crash", "v1.5").Findings[0].Result = history.Broken
	of("crash", "v2").Findings[3].Result = history.Indeterminate
	of("pause", "v4").Findings[3].Result = history.Indeterminate
	of("pause", "v5").Findings[0].Result = history.OK
	text := matrix(t, cells)
	assert.Contains(t, text, "faults, leases of 400ms; what broke: S stock,")
	assert.Regexp(t, `(?m)^ +v1 +v1\.5 +v2 +v3 +v4 +v5 +v5- +v5\.5 +v6 +v15 +v15- +v16 +v17\n`+
		` +as- +write-\n +printed +only$`, text)
	assert.Regexp(t, `(?m)^crash +n/r SL!  \?L! ok +ok .* ok$`, text)
	assert.Regexp(t, `(?m)^late-release +ok +SER +SER +SE .* –$`, text)
	assert.Regexp(t, `(?m)^pause +ok +SE +SE +SE +SE\?L! E! `, text)
	assert.Contains(t, text, "\nnot run, 1: needs a system that can stop a process\n")
	assert.NotContains(t, text, "each cell was run")
	assert.NotContains(t, text, "0/1")
}

func TestTheWholeTableIsNoWiderThanAPage(t *testing.T) {
	specs, err := catalog.Select(nil, nil, 2, 1)
	require.NoError(t, err)
	var cells []*history.Cell
	for _, s := range specs {
		cells = append(cells, asExpected(s.Scenario.Name, s.Rung.Number))
	}
	text := matrix(t, cells)
	for _, s := range catalog.Table {
		assert.Contains(t, "\n"+text, "\n"+s.Name, "it has a line or a table")
	}
}

func TestTheGridLeavesOutWhatNobodyAskedFor(t *testing.T) {
	text := matrix(t, []*history.Cell{
		asExpected("crash", "v1"), asExpected("pause", "v16"), asExpected("write-only-fence", "v15"),
	})
	assert.Regexp(t, `(?m)^crash +L$`, text, "not selected is blank")
	assert.Regexp(t, `(?m)^pause +ok$`, text)
	assert.Regexp(t, `(?m)^write-only-fence –   E   –$`, text, "does not apply, whether selected or not")
}

func TestTheGridOfARunWithoutARun(t *testing.T) {
	text := matrix(t, []*history.Cell{{Scenario: "crash", Rung: "v1", NotRun: "needs instances of its own"}})
	assert.Contains(t, text, "faults; what broke")
	assert.Contains(t, text, "not run, 1: needs instances of its own\n")
}

func TestLeasesOfSeveralLengths(t *testing.T) {
	longer := asExpected("pause", "v1")
	longer.TTL = time.Second
	assert.Contains(t, matrix(t, []*history.Cell{asExpected("crash", "v1"), longer}), "faults, leases of 400ms to 1s;")
}

// TestRepeatingDoesNotWidenTheGrid repeats every cell, and lets the last of each be a surprise.
func TestRepeatingDoesNotWidenTheGrid(t *testing.T) {
	var cells []*history.Cell
	for range 99 {
		cells = append(cells, faults(t)...)
	}
	text := matrix(t, cells)
	assert.Contains(t, text, "each cell was run 99 times; where not all were as expected,")
	assert.NotContains(t, text, "99/99")
	for _, c := range faults(t) {
		c.Findings[4].Result = history.Broken
		cells = append(cells, c)
	}
	text = matrix(t, cells)
	assert.Regexp(t, `(?m)^crash +LF! +LF! +F! .*\n +99/100 99/100 99/100 `, text)
	assert.Equal(t, len(faults(t)), strings.Count(text, "99/100"))
}

func TestALongLadderIsSplitEvenly(t *testing.T) {
	cells := faults(t)
	for i := range 20 {
		cells = append(cells, asExpected("crash", fmt.Sprintf("v%d", 20+i)))
	}
	text := matrix(t, cells)
	heads := strings.Split(text, "─\n")
	require.Len(t, heads, 3)
	assert.Regexp(t, `(?m)^ +v1 .* v17 +v20 `, heads[0], "what the table does not know comes last")
	assert.Regexp(t, `(?m)^ +v2\d .* v39$`, heads[1])
	wide, narrow := strings.Index(text, "\ncrash "), strings.LastIndex(text, "\ncrash ")
	assert.NotEqual(t, wide, narrow)
	first, second := lineAt(text, wide), lineAt(text, narrow)
	assert.InDelta(t, utf8.RuneCountInString(first), utf8.RuneCountInString(second), 15, "\n%s\n%s", first, second)
}

func lineAt(text string, newline int) string {
	line, _, _ := strings.Cut(text[newline+1:], "\n")
	return line
}
