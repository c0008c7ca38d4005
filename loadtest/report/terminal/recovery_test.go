package terminal_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"stockapi/loadtest/history"
	"stockapi/loadtest/report/terminal"
	"stockapi/loadtest/scenario"
)

// recovered makes a cell after whose fault the next order took so long, with that outcome.
func recovered(name, rung string, took time.Duration, outcome history.Outcome) *history.Cell {
	c := cell(name, rung, []history.Finding{{Verdict: history.Liveness, Result: history.OK}})
	c.TTL, c.Faults = 500*time.Millisecond, []history.Fault{{Order: "1"}}
	c.Ops = []history.Op{{Order: "2", Phase: history.Buy, Outcome: outcome, Done: history.Instant(took)}}
	return c
}

func stuckFor(name, rung string) *history.Cell {
	c := recovered(name, rung, time.Second, history.Busy)
	c.Findings[0].Result = history.Broken
	return c
}

func recoveries(cells ...*history.Cell) string {
	var out bytes.Buffer
	terminal.Printer{Writer: &out}.Recoveries(scenario.Table.Assess(cells))
	return out.String()
}

func TestRecoveryIsAColumnPerKindOfLock(t *testing.T) {
	const msec = time.Millisecond
	text := recoveries(
		recovered("two-instances", "v4", msec, history.Sold),
		stuckFor("crash", "v1"), recovered("crash", "v4", 490*msec, history.Sold),
		recovered("crash", "v5", 510*msec, history.Refused),
		recovered("crash", "v12-session", 3*msec, history.Sold),
		recovered("pause", "v1", 875*msec, history.Busy), recovered("pause", "v4", 500*msec, history.Sold),
		recovered("pause", "v12-session", 876*msec, history.Busy), recovered("pause", "v14", 520*msec, history.Sold),
	)
	assert.Regexp(t, `TTL +Redis +SQL session +ZooKeeper\n`, text)
	assert.Regexp(t, `\ncrash +500ms +490–510 ms, v1 never +3 ms\n`, text)
	assert.Regexp(t, `\npause +500ms +500 ms, v1 > 875 ms +> 876 ms +520 ms\n`, text)
}

func TestOneScenarioIsNoTable(t *testing.T) {
	assert.Empty(t, recoveries(recovered("crash", "v4", 1, history.Sold),
		recovered("two-instances", "v4", 1, history.Sold)))
	notPlayed := recovered("pause", "v4", 1, history.Sold)
	notPlayed.Aborted = "nobody was stopped"
	assert.Empty(t, recoveries(recovered("crash", "v4", 1, history.Sold), notPlayed))
}

// One that was late, once in three times, does not count, and neither does one that got through by luck.
func TestTheRepetitionInTheMiddleCounts(t *testing.T) {
	var cells []*history.Cell
	for _, took := range []time.Duration{510, 900, 505} {
		cells = append(cells, recovered("crash", "v4", took*time.Millisecond, history.Sold))
	}
	cells = append(cells, stuckFor("pause", "v4"), recovered("pause", "v4", 1, history.Sold), stuckFor("pause", "v4"))
	text := recoveries(cells...)
	assert.Regexp(t, `crash +500ms +510 ms\n`, text)
	assert.Regexp(t, `pause +500ms +never\n`, text)
}
