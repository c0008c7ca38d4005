package terminal_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"stockapi/loadtest/history"
	"stockapi/loadtest/report/terminal"
)

func TestInvalidCells(t *testing.T) {
	bad := asExpected("two-instances", "v17")
	bad.Findings = append([]history.Finding{{Verdict: history.Valid, Result: history.Invalid,
		Because: "2 of 3 were not sent"}}, bad.Findings...)
	bad.Ops = append(bad.Ops, history.Op{Phase: history.Buy, Outcome: history.NotSent})
	slow := asExpected("crash", "v4")
	slow.Aborted, slow.Client = "it was not held", &history.Client{Longest: time.Second}
	longer := asExpected("pause", "v4")
	longer.Longer = 4
	text := printed(terminal.Printer{}, terminal.Run{}, bad, slow, longer)
	assert.Regexp(t, `(?m)^! v17 atomic +not valid `, text)
	assert.Regexp(t, `(?m)^crash +inv`, text)
	assert.Regexp(t, `(?m)^pause +SE~`, text)
	assert.Contains(t, text, "not everything was measured (1 of 3 cells are as expected; 2 not valid):\n")
	assert.Contains(t, text, "  two-instances v17 atomic: not valid: 2 of 3 were not sent\n")
	assert.Contains(t, text, "  crash v4 lua-release: machine too slow for this cell: "+
		"it stalled for 1s, under leases of 400ms: could not")
	assert.Contains(t, terminal.Line(assess(slow)), "! crash v4 lua-release: machine too slow for this cell")
}
