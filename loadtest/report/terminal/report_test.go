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
	"stockapi/loadtest/scenario"
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

// expected returns what the table expects of a rung in a scenario.
func expected(name, rung string) (catalog.Expectation, bool) {
	s, _ := scenario.Table.Find(name)
	return s.Expected(rung)
}

// assess compares a cell with what the table expects of it.
func assess(c *history.Cell) *catalog.Assessment {
	s, _ := scenario.Table.Find(c.Scenario)
	return s.Assess(c)
}

// asExpected makes a cell whose verdicts are those in the table, or ok if they are not in it.
func asExpected(name, rung string) *history.Cell {
	c := cell(name, rung, nil)
	c.TTL = 400 * time.Millisecond
	e, known := expected(name, rung)
	for _, v := range history.Verdicts {
		f := history.Finding{Verdict: v, Result: e.Results[v], Because: "so"}
		if !known {
			f.Result = history.OK
		}
		c.Findings = append(c.Findings, f)
	}
	return c
}

// breaks makes a cell whose stock broke, with that story.
func breaks(name, rung, story string) *history.Cell {
	c := asExpected(name, rung)
	c.Findings[0].Result, c.Findings[0].Because = history.Broken, story
	return c
}

func needs(what, name, rung string) *history.Cell {
	return &history.Cell{Scenario: name, Rung: rung, Name: catalog.NameOf(rung),
		NotTested: &history.NotTested{Reason: "needs " + what}}
}

// cellsOf makes cells of those scenarios and rungs, as expected; of all if none are named.
func cellsOf(t *testing.T, scenarios, rungs []string) (cells []*history.Cell) {
	t.Helper()
	specs, err := scenario.Table.Select(scenarios, rungs, 2, 1)
	require.NoError(t, err)
	for _, s := range specs {
		cells = append(cells, asExpected(s.Scenario.Name, s.Rung.Number))
	}
	return cells
}

// printed returns the output of a run of these cells.
func printed(p terminal.Printer, o terminal.Run, cells ...*history.Cell) string {
	var out bytes.Buffer
	p.Writer, o.Rows = &out, scenario.Table.Assess(cells)
	p.Results(o)
	p.End(o)
	return out.String()
}

func widest(text string) int {
	width := 0
	for line := range strings.Lines(text) {
		width = max(width, utf8.RuneCountInString(strings.TrimRight(line, "\n")))
	}
	return width
}

// The output of a first run fits one screen: stories, matrix, and the next commands.
func TestFirstRunFitsOneScreen(t *testing.T) {
	scenarios, rungs := scenario.Table.First()
	cells := cellsOf(t, scenarios, rungs)
	for i, c := range cells {
		for j := range c.Findings {
			c.Findings[j].Because = fmt.Sprintf("b sold unit 98 to order 2 at +0.%03d s; a, stopped for 0.525 s before "+
				"set/stock under a lease of 0.500 s, sold unit 98 again to order 1 at +0.%03d s", i, i+1)
		}
	}
	text := printed(terminal.Printer{Width: 120}, terminal.Run{First: true}, cells...)
	assert.LessOrEqual(t, strings.Count(text, "\n"), 30, text)
	assert.LessOrEqual(t, widest(text), 120, text)
	for _, want := range []string{"\npause v2–v6: b sold", "\npause v15: b sold", "slow-work v2–v4: b sold",
		"\nclock-jump       –  –    ok SE  SE SE SE SE   SE E   –\n", " more stories and all figures\n",
		"\npause broke the most: on v2–v6 a unit was sold twice; v2–v4: a stopped process does not see its lease expire.\n" +
			"The stock of v15 held, though the lock broke: two",
		" v1 (but not in crash) and v17 held.\n" +
			"Why: `go run ./loadtest list pause`. Every rung: `go run ./loadtest all`.\n",
		"\nas expected (90 of 90 cells)\n"} {
		assert.Contains(t, text, want)
	}
	text = printed(terminal.Printer{Width: 80}, terminal.Run{First: true}, cells...)
	_, matrix, _ := strings.Cut(text, "what broke:")
	assert.LessOrEqual(t, strings.Count(matrix, "\n"), 22, "the matrix is on a small screen too")
}

// A reason applies to the rungs it is printed for, and "broke the most" is true.
func TestLessonIsTrue(t *testing.T) {
	const stopped = "a stopped process does not see its lease expire."
	for _, c := range []struct{ scenarios, rungs, says string }{
		{"", "v1 v1.5 v2 v3 v4 v5 v6 v8 v12 v12-session v13 v14 v14-hasty v15 v16 v17", "The most instructive is pause: " +
			"on v1.5–v12 and v13–v14-hasty a unit was sold twice; v1.5–v4: " + stopped},
		{"pause", "v4", "In pause, on v4 a unit was sold twice: " + stopped},
		{"pause slow-work", "v4 v15", "In slow-work, on v4 a unit was sold twice: an atomic"},
		{"pause slow-work", "v4 v5", "In slow-work, on v4 a unit was sold twice: an atomic"}, // slow-work spares v5
		{"two-instances pause", "v0 v15", "In two-instances, on v0 a unit was sold twice: nothing guards"},
		{"two-instances", "v0 v0.5", "In two-instances, on v0 and v0.5 a unit was sold twice; v0: nothing guards"},
		{"check-delete-gap", "v2 v4", "In check-delete-gap, on v2 an order removed a lock that was not its own: DEL"},
		{"hung-holder", "v1 v2 v5", "In hung-holder, on v2 two orders held the lock at once: the lease"},
		{"queue-order herd", "v4 v7 v8 v13 v14",
			"queue-order broke the most: on v4, v7 and v13 orders acquired the lock out of turn; v4: wai"},
		{"crash", "v1 v1.5", "In crash, on v1 and v1.5 no order got through in time; v1: its"},
		{"pause slow-work", "v4 v5.5 v15", "v5.5 (but not in pause) and v15 (in pause its stock alone) held."},
		{"pause", "v1 v3 v4", "v1 held. Why: `go run ./loadtest list pause v3 v4`."},
		{"pause", "v1.5 v2 v3 v4", "Why: `go run ./loadtest list pause`."},
		{"pause", "v15 v18", "In pause, on v15 and v18 two orders held the lock at once: two orders"},
	} {
		cells := cellsOf(t, strings.Fields(c.scenarios), strings.Fields(c.rungs))
		text := strings.Join(strings.Fields(printed(terminal.Printer{}, terminal.Run{}, cells...)), " ")
		assert.Contains(t, text, c.says)
	}
}

// No line is wider than the terminal. --verbose prints everything, in as many columns as it needs.
func TestLinesFitTheTerminal(t *testing.T) {
	cells := cellsOf(t, nil, nil)
	cells[0].Client = &history.Client{Loop: "open", AskedRate: 1000, Rate: 500, Lag: 2 * time.Second}
	for _, c := range cells {
		c.Findings[0].Because = strings.Repeat("unit 98 is sold to order 2, ", 9)
		c.Coverage = &history.Coverage{Sales: 100, Checked: 200, Refusals: 200, Leases: 300, Expected: 300, Rarer: 0.03}
	}
	for _, width := range []int{80, 100, 120, 160, 200} {
		text := printed(terminal.Printer{Width: width}, terminal.Run{}, cells...)
		assert.LessOrEqual(t, widest(text), width, text)
		assert.Regexp(t, `--verbose\s+prints \d+ more stories`, text)
		all := printed(terminal.Printer{Width: width}, terminal.Run{Verbose: true}, cells...)
		assert.LessOrEqual(t, widest(all), max(width, 140), all)
		assert.NotContains(t, all, "more stories")
		for _, want := range []string{"\none-instance: ", "evidence for ok", "pause v4: ", "v5: "} {
			assert.Contains(t, all, want)
		}
	}
	assert.Contains(t, printed(terminal.Printer{}, terminal.Run{Out: "out"}, cells...),
		" and all figures\npage: out/report.html\nas expected (")
	assert.Contains(t, printed(terminal.Printer{}, terminal.Run{Read: "r.json"}, cells...),
		"page: loadtest report r.json writes it\n", "a run that was read has no --out")
}

func TestStories(t *testing.T) {
	text := func(all bool, cells ...*history.Cell) string {
		var out bytes.Buffer
		terminal.Printer{Writer: &out}.Stories(scenario.Table.Assess(cells), all)
		return out.String()
	}
	lost := breaks("pause", "v2", "a unit is lost")
	lost.Ops = lost.Ops[1:]
	cells := []*history.Cell{
		breaks("two-instances", "v0.5", "eight"), lost, breaks("pause", "v3", "three"), breaks("pause", "v4", "four"),
		breaks("pause", "v5", "five"), breaks("pause", "v6", "six"), asExpected("pause", "v12-naive"),
		breaks("pause", "v13", "seven"), breaks("pause", "v17", "a surprise"), breaks("pause-at-work", "v4", "nine"),
	}
	assert.Equal(t, "two-instances v0.5: eight\npause v2: a unit is lost\npause v3–v6 v13: three\n\n",
		text(false, cells...), "each kind once; the surprise is the summary's")
	assert.Contains(t, text(true, cells...), "pause v4: four\npause v5: five\n", "each row has its own")
	assert.Contains(t, text(false, breaks("pause", "v4", "four"), breaks("pause", "v5.5", "best")),
		"pause v4 v5.5: best\n",
		"it is the story of the most instructive rung")
	assert.Empty(t, text(false, asExpected("pause", "v17")))
	assert.Empty(t, text(false, asExpected("herd", "v14")))
	assert.Equal(t, "herd v14: so\n\n", text(true, asExpected("herd", "v14")), "no herd, for comparison")
	long := strings.TrimSpace(strings.Repeat("b sold unit 98 to order 2 at +0.521 s; ", 9))
	lines := text(false, breaks("pause", "v4", long))
	assert.Equal(t, "pause v4: "+long, strings.Join(strings.Fields(lines), " "), "no word is lost")
}

// Every lesson is about a cell that breaks.
func TestLessonsBreak(t *testing.T) {
	for _, l := range terminal.Lessons {
		e, known := expected(l.Scenario, l.Rung)
		assert.True(t, known, "%v", l)
		broken := false
		for _, v := range history.Verdicts {
			broken = broken || e.Results[v] == history.Broken
		}
		assert.True(t, broken, "%v", l)
	}
}

func TestLineOfACell(t *testing.T) {
	assert.Equal(t, "pause v4 lua-release: BROKEN stock, exclusion: three",
		terminal.Line(assess(breaks("pause", "v4", "three"))))
	assert.Equal(t, "! pause v17 atomic: stock was expected to be ok and is BROKEN: five",
		terminal.Line(assess(breaks("pause", "v17", "five"))))
	assert.Equal(t, "pause v1 setnx: needs luck", terminal.Line(assess(needs("luck", "pause", "v1"))))
}

func TestSummary(t *testing.T) {
	last := func(o terminal.Run, cells ...*history.Cell) (string, bool) {
		var out bytes.Buffer
		o.Rows = scenario.Table.Assess(cells)
		good := terminal.Printer{Writer: &out}.Summary(o)
		return out.String(), good
	}
	good, bad := asExpected("crash", "v1"), breaks("pause", "v17", "x")
	zookeeper := needs("zookeeper", "crash", "v13")
	interrupted := terminal.Run{Interrupted: true, Selected: 458}
	for _, c := range []struct {
		outcome terminal.Run
		cells   []*history.Cell
		says    string
		good    bool
	}{
		{terminal.Run{}, []*history.Cell{good}, "as expected (1 of 1 cells)\n", true},
		{terminal.Run{}, []*history.Cell{good, zookeeper}, "as expected (1 of 1 cells; 1 not run)\n", true},
		{terminal.Run{}, []*history.Cell{good, bad, zookeeper}, "NOT as expected (1 of 2 cells are; 1 not run):\n" +
			"  pause v17 atomic: stock was expected to be ok and is BROKEN: x\n", false},
		{interrupted, []*history.Cell{good}, "interrupted after 1 of 458 cells, as expected so far\n", true},
		{interrupted, []*history.Cell{good, zookeeper},
			"interrupted after 2 of 458 cells, as expected so far (1 not run)\n", true},
		{interrupted, []*history.Cell{good, bad}, "interrupted after 2 of 458 cells, NOT as expected (1 of 2 cells are):\n" +
			"  pause v17 atomic: stock was expected to be ok and is BROKEN: x\n", false},
		{terminal.Run{Interrupted: true}, []*history.Cell{good}, "interrupted after 1 cell, as expected so far\n", true},
	} {
		says, good := last(c.outcome, c.cells...)
		assert.Equal(t, c.says, says)
		assert.Equal(t, c.good, good, says)
	}
}

// A run in which no cell could be run is not as expected.
func TestSummaryOfARunWithoutResults(t *testing.T) {
	rows := scenario.Table.Assess([]*history.Cell{needs("zookeeper", "crash", "v13")})
	words, good := terminal.Run{Rows: rows}.Headline()
	assert.Equal(t, "nothing was measured (0 of 0 cells; 1 not run)", words)
	assert.False(t, good)
}
