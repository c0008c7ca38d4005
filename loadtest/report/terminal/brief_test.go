package terminal_test

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/history"
	"stockapi/loadtest/report/terminal"
)

// wholeRun makes all cells of a run in which all is as expected. Those that break tell a story as long as a real one.
func wholeRun(t *testing.T) (run *history.Run) {
	t.Helper()
	specs, err := catalog.Select(nil, nil, 2, 1)
	require.NoError(t, err)
	run = &history.Run{ID: "821419ff", Selected: len(specs), Backend: history.Backend{
		Text: "redis-server 7.0.15, its own, at redis://127.0.0.1:31002, MariaDB, its own, at 127.0.0.1:31003, " +
			"ZooKeeper, its own, at 127.0.0.1:31009",
	}}
	for i, s := range specs {
		c := asExpected(s.Scenario.Name, s.Rung.Number)
		for j := range c.Findings {
			c.Findings[j].Because = fmt.Sprintf("b sold unit 98 to order 2 at +0.%03d s; a, hit by %s%s under a lease of "+
				"0.500 s, sold unit 98 again to order 1 at +0.%03d s", i, s.Scenario.Name, c.Findings[j].Verdict, i+1)
		}
		if !s.Scenario.Fault() {
			c.Coverage = &history.Coverage{Sales: 100, Checked: 200, Refusals: 200, Leases: 300, Expected: 300, Rarer: 0.03}
		}
		run.Cells = append(run.Cells, c)
	}
	return run
}

// printed prints a run, header and all.
func printed(run *history.Run, p terminal.Printer, o terminal.Outcome) string {
	var out bytes.Buffer
	p.Writer = &out
	p.Header(run)
	o.Rows, o.Selected = catalog.Assess(run.Cells), run.Selected
	p.Results(o)
	return out.String()
}

func TestAWholeRunFitsOn80Lines(t *testing.T) {
	run := wholeRun(t)
	text := printed(run, terminal.Printer{Width: 120}, terminal.Outcome{})
	assert.LessOrEqual(t, strings.Count(text, "\n"), 80, text)
	assert.LessOrEqual(t, widest(text), 120, text)
	for _, r := range catalog.Rungs {
		assert.Regexp(t, `(^|\n|  )`+r.Number+` +(ok|S|SE) `, text, "it is in the table of the crowds")
	}
	_, grid, _ := strings.Cut(text, "faults, leases")
	for _, s := range catalog.Table {
		if s.Fault() {
			line, rest, _ := strings.Cut(lineOf(grid, s.Name), "\n")
			assert.Regexp(t, `^[a-z-]+ +(–|ok|[SERLFOH])`, line, "%s has a line", s.Name)
			assert.Equal(t, s.Name, words0(strings.Fields(line))+strings.TrimSpace(rest), "its name is whole")
		}
	}
	assert.Regexp(t, `--verbose prints \d+ more stories, recovery times and what each ok rests on; --out DIR writes all, `+
		`with a page\n`+
		`as expected \(\d+ of \d+ cells\)\n$`, text)
	assert.Contains(t, text, "\n  pause ", "the lesson of the whole is told")
	assert.Contains(t, text, "ok rests on 100 sales a crowd, ")

	all := printed(run, terminal.Printer{}, terminal.Outcome{Verbose: true})
	assert.Greater(t, strings.Count(all, "\n"), 400)
	assert.NotContains(t, all, "more stories")
	text = printed(run, terminal.Printer{}, terminal.Outcome{Out: "out"})
	assert.LessOrEqual(t, strings.Count(text, "\n"), 80)
	assert.Contains(t, text, "matrix.txt; every timeline: out")
	text = printed(run, terminal.Printer{}, terminal.Outcome{Read: "r.json"})
	assert.Contains(t, text, "; loadtest report r.json makes the page\n", "a run that was read has no --out")
}

// lineOf returns the line of a scenario in a grid, with the next one if its name goes on there.
func lineOf(grid, scenario string) string {
	lines := strings.Split(grid, "\n")
	for i, line := range lines[:len(lines)-1] {
		name := words0(strings.Fields(line))
		if name == scenario {
			return line
		}
		rest, goesOn := strings.CutPrefix(lines[i+1], "  ")
		if goesOn && strings.HasSuffix(name, "-") && name+rest == scenario {
			return line + "\n" + lines[i+1]
		}
	}
	return ""
}

// STOCKAPI_RESULTS=FILE has the results of a real run looked at, on three terminals.
func TestARealRunFitsOn80Lines(t *testing.T) {
	file := os.Getenv("STOCKAPI_RESULTS")
	if file == "" {
		t.Skip("STOCKAPI_RESULTS names no file")
	}
	run, err := history.Read(file)
	require.NoError(t, err)
	for _, width := range []int{80, 120, 200} {
		text := printed(run, terminal.Printer{Width: width}, terminal.Outcome{})
		t.Logf("%d columns: %d lines", width, strings.Count(text, "\n"))
		assert.LessOrEqual(t, widest(text), width)
		if width >= 120 {
			assert.LessOrEqual(t, strings.Count(text, "\n"), 80)
		}
	}
}

// Every cell of the narrow grid is the one of the wide grid.
func TestTheNarrowGridHasEveryCell(t *testing.T) {
	run := wholeRun(t)
	rows := catalog.Assess(run.Cells)
	text := printed(run, terminal.Printer{}, terminal.Outcome{})
	_, grid, _ := strings.Cut(text, "faults, leases")
	require.NotEmpty(t, grid)
	for _, s := range catalog.Table {
		if !s.Fault() {
			continue
		}
		line, _, _ := strings.Cut(lineOf(grid, s.Name), "\n")
		words := strings.Fields(line)
		require.Len(t, words, 1+len(catalog.Rungs), s.Name)
		for i, r := range catalog.Rungs {
			want := string(history.NotApplicable)
			for _, row := range rows {
				if row.Scenario == s.Name && row.Rung == r.Number {
					want = lettersOf(row.Shown())
				}
			}
			assert.Equal(t, want, words[1+i], s.Name+" "+r.Number)
		}
	}
}

func words0(words []string) string {
	if len(words) == 0 {
		return ""
	}
	return words[0]
}

// lettersOf returns the letters of what broke, ok if nothing did.
func lettersOf(c *history.Cell) string {
	var out []byte
	for i, v := range history.Verdicts {
		if c.Finding(v).Result == history.Broken {
			out = append(out, "SERLFOH"[i])
		}
	}
	if len(out) == 0 {
		return "ok"
	}
	return string(out)
}

func TestAStoryIsToldOnceWithItsRungs(t *testing.T) {
	sold := func(scenario, rung string, unit int) *history.Cell {
		return told(scenario, rung, fmt.Sprintf("b sold unit %d to order 2 at +0.%d s; a, stopped for 0.5%d s before "+
			"set/stock, sold unit %d again to order 1 at +1.%d s", unit, unit, unit, unit, unit))
	}
	var cells []*history.Cell
	for i, rung := range []string{"v2", "v3", "v4", "v5", "v6", "v7"} {
		cells = append(cells, sold("pause", rung, 90+i))
	}
	cells = append(cells, told("pause", "v12", "another story"), asExpected("pause", "v12-naive"),
		sold("pause", "v13", 97), sold("pause-at-work", "v4", 98))
	crowds, err := catalog.Select([]string{"one-instance", "two-instances"}, nil, 2, 1) // too much for 80 lines
	require.NoError(t, err)
	for _, s := range crowds {
		cells = append(cells, asExpected(s.Scenario.Name, s.Rung.Number))
	}
	cells = append(cells, told("pause", "v17", "this is whole"))
	text := strings.Join(strings.Fields(printed(&history.Run{Cells: cells}, terminal.Printer{}, terminal.Outcome{})), " ")
	assert.Contains(t, text, "pause v2–v7 v13, pause-at-work v4 b sold unit 90 to order 2 at +0.90 s; a, stopped for")
	assert.Equal(t, 1, strings.Count(text, "sold unit 90 to"))
	assert.NotContains(t, text, "sold unit 91 ")
	assert.Contains(t, text, "pause v12 another story")
	assert.Contains(t, text, "one-instance v0 v11-two, two-instances v0 v0.5 v11-two so")
	assert.Contains(t, text, "this is whole", "a surprise is told in any case")
}

func TestWhatIsNotRunIsToldInShortToo(t *testing.T) {
	run := wholeRun(t)
	for i, c := range run.Cells {
		if c.Rung == "v13" {
			run.Cells[i] = &history.Cell{Scenario: c.Scenario, Rung: c.Rung, Name: c.Name, NotRun: "needs a zookeeper"}
		}
		if c.Scenario == "crash" && c.Rung == "v4" {
			c.Longer = 4
		}
	}
	text := printed(run, terminal.Printer{}, terminal.Outcome{})
	assert.LessOrEqual(t, strings.Count(text, "\n"), 80)
	assert.Regexp(t, `  v13 +nr +nr *\n`, text)
	assert.Regexp(t, `\ncrash .* nr `, text)
	assert.Regexp(t, `\ncrash .* ok~ok `, text)
	assert.Regexp(t, `\nnot run, \d+: needs a zookeeper\n`, text)
}

// A cell of which much is unknown has no room for all letters: its column stays narrow.
func TestAnUnknownCellLeavesTheGridWhole(t *testing.T) {
	run := wholeRun(t)
	for _, c := range run.Cells {
		if c.Scenario == "quorum-returns" && c.Rung == "v13" {
			for i, f := range c.Findings {
				c.Findings[i].Result = map[bool]history.Result{
					true: history.Broken, false: history.Indeterminate,
				}[f.Verdict == history.Liveness]
			}
		}
	}
	text := printed(run, terminal.Printer{}, terminal.Outcome{})
	assert.Regexp(t, `\nquorum-returns .* L\?!ok ok `, text)
	assert.Equal(t, 1, strings.Count(text, "\ncrash  "), "the grid is in one piece")
}

// Every lesson is a cell that breaks, or whose remark is told.
func TestEveryLessonIsOne(t *testing.T) {
	for _, l := range terminal.Lessons {
		e, known := catalog.Expected(l.Scenario, l.Rung)
		assert.True(t, known, "%v", l)
		broken := false
		for _, v := range history.Verdicts {
			broken = broken || e.Results[v] == history.Broken
		}
		assert.True(t, broken, "%v", l)
	}
}

func TestAnOpenLoopIsToldInShortToo(t *testing.T) {
	run := wholeRun(t)
	for i, c := range run.Cells[:62] {
		c.Client = &history.Client{Loop: "open", AskedRate: 1000, Rate: 1000}
		if i == 1 {
			c.Client.Rate = 500
		}
	}
	assert.Contains(t, printed(run, terminal.Printer{}, terminal.Outcome{}),
		"\nopen loop: p99 counts from when an order was due; the rate was missed in 1 of 62 crowds\n")
}

func TestSmallRunsAreToldInFull(t *testing.T) {
	cells := []*history.Cell{told("pause", "v4", "one of 4"), told("pause", "v5", "one of 5")}
	run := &history.Run{ID: "1", Cells: cells}
	text := printed(run, terminal.Printer{}, terminal.Outcome{})
	assert.Equal(t, printed(run, terminal.Printer{}, terminal.Outcome{Verbose: true}), text)
	assert.Contains(t, text, "  v4  one of 4\n  v5  one of 5\n")
}

// On any terminal no line is wider than it.
func TestEveryLineFitsItsScreen(t *testing.T) {
	run := wholeRun(t)
	run.Cells[0].Client = &history.Client{Loop: "open", AskedRate: 1000, Rate: 500, Lag: 2 * time.Second}
	for _, width := range []int{80, 100, 120, 160, 200} {
		for _, verbose := range []bool{false, true} {
			text := printed(run, terminal.Printer{Width: width}, terminal.Outcome{Verbose: verbose})
			for line := range strings.Lines(text) {
				assert.LessOrEqual(t, widest(line), width, line)
			}
		}
	}
}

// A narrow terminal drops columns in a stated order. What the lessons are about stays.
func TestColumnsAreDroppedInOrder(t *testing.T) {
	run := &history.Run{Cells: []*history.Cell{asExpected("two-instances", "v4"), asExpected("two-instances", "v17")}}
	head := func(width int) []string {
		text := printed(run, terminal.Printer{Width: width}, terminal.Outcome{})
		for line := range strings.Lines(text) {
			if words := strings.Fields(strings.ReplaceAll(line, " ms", "")); words0(words) == "rung" {
				return words
			}
		}
		return nil
	}
	all := "rung inst verdict sold refused busy unknown left twice req/s p50 p99 cmd/sale"
	assert.Equal(t, strings.Fields(all), head(120))
	assert.Equal(t, strings.Fields("rung inst verdict sold refused unknown left twice req/s p50 p99 cmd/sale"), head(115))
	for _, c := range run.Cells {
		c.Ops = c.Ops[:2] // without the order whose outcome is unknown
	}
	assert.Equal(t, strings.Fields("rung verdict sold refused left twice cmd/sale"), head(80))
	assert.Equal(t, strings.Fields("rung verdict sold refused left twice"), head(70))
}

// A run of which no cell could be run has not come out as expected.
func TestARunOfNothingIsNotGood(t *testing.T) {
	words, good := terminal.Outcome{Rows: catalog.Assess([]*history.Cell{
		{Scenario: "crash", Rung: "v13", NotRun: "needs zookeeper"},
	})}.Headline()
	assert.Equal(t, "nothing was measured (0 of 0 cells; 1 not run)", words)
	assert.False(t, good)
}

func TestAnInterruptedRunSaysSoFirst(t *testing.T) {
	last := func(cells ...*history.Cell) string {
		var out bytes.Buffer
		terminal.Printer{Writer: &out}.Summary(terminal.Outcome{
			Rows: catalog.Assess(cells), Interrupted: true, Selected: 458,
		})
		return out.String()
	}
	assert.Equal(t, "interrupted after 2 of 458 cells, so far as expected\n",
		last(asExpected("crash", "v1"), asExpected("pause", "v4")))
	notRun := &history.Cell{Scenario: "crash", Rung: "v13", NotRun: "needs zookeeper"}
	assert.Equal(t, "interrupted after 2 of 458 cells, so far as expected (1 not run)\n",
		last(asExpected("crash", "v1"), notRun))
	assert.Regexp(t, `^interrupted after 2 of 458 cells, NOT as expected \(1 of 2 cells are\):\n  pause v17 atomic: `,
		last(asExpected("crash", "v1"), told("pause", "v17", "x")))
	var out bytes.Buffer
	terminal.Printer{Writer: &out}.Summary(terminal.Outcome{
		Rows: catalog.Assess([]*history.Cell{asExpected("crash", "v1")}), Interrupted: true,
	})
	assert.Equal(t, "interrupted after 1 cell, so far as expected\n", out.String(), "an old file does not say how many")
}
