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

func TestCoverage(t *testing.T) {
	rests := history.Coverage{Sales: 100, Refusals: 200, Checked: 199, Leases: 298, Expected: 300,
		Removals: 301, Judged: 253, LostReleases: 2, Resolution: 280 * time.Microsecond,
		Rarer: 3.0 / 100, Resolved: 2, Unknown: 1}
	var cells []*history.Cell
	for _, rung := range []string{"v0", "v4", "v5", "v17"} {
		c := asExpected("two-instances", rung)
		c.Coverage = &rests
		cells = append(cells, c)
	}
	cells[3].Coverage = &history.Coverage{Sales: 30000, Rarer: 1e-4}
	busy := asExpected("two-instances", "v3")
	busy.Coverage = &history.Coverage{Sales: 8, Busy: 292, Orders: 300, Rarer: 0.375}
	cells = append(cells, busy)
	shared := asExpected("two-instances", "v19")
	shared.Coverage = &history.Coverage{Sales: 100, Leases: 3, Expected: 3, Shared: 97, Rarer: 0.6}
	cells = append(cells, shared)
	var out bytes.Buffer
	terminal.Printer{Writer: &out}.Crowds(scenario.Table.Assess(cells), true)
	assert.LessOrEqual(t, widest(out.String()), 120)
	assert.Contains(t, out.String(),
		"evidence for ok\n  v4, v5: 100 sales, 199 of 200 refusals checked, 298 of 300 leases, 253 of 301 releases "+
			"judged and 2 without a reply,\n    overlaps under 0.28 ms would not show, 2 resolved later and 1 unknown, "+
			"a violation in at least 1 of 33 sales would\n    have shown (95 %)\n"+
			"  v17: 30000 sales, a violation in at least 1 of 10000 sales would have shown (95 %)\n"+
			"  v3: 8 sales, 292 of 300 orders busy though stock was left\n"+
			"  v19: 100 sales, 3 of 3 leases and 97 orders under another's\n")
}

func TestOpenLoopThatMissesItsRate(t *testing.T) {
	kept, not := asExpected("two-instances", "v4"), asExpected("two-instances", "v17")
	kept.Client = &history.Client{Loop: "open", AskedRate: 100, Rate: 100}
	not.Client = &history.Client{Loop: "open", AskedRate: 1000, Rate: 500, Lag: 2 * time.Second}
	assert.Contains(t, figures(0, false, kept, not),
		"open loop: p50 and p99 count from the time at which an order was due\n"+
			"  v17: sent 500 of the requested 1000 req/s, up to 2000 ms late (p99)\n")
	kept.Client.Loop = "closed"
	assert.NotContains(t, figures(0, false, kept), "loop")
}
