package html_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"stockapi/loadtest/history"
)

func TestSectionHasItsEvidence(t *testing.T) {
	run := runOf(cellOf("two-instances", "v4", sale("o1", "a", 100, 10, 20),
		history.Op{Order: "o2", Phase: history.Buy, Outcome: history.NotSent, Done: history.Never}))
	c := run.Cells[0]
	c.Coverage = &history.Coverage{
		Sales: 100, Refusals: 200, Checked: 198, Leases: 299, Expected: 300, Resolution: 280 * time.Microsecond, Rarer: 0.03,
		Resolved: 2, Unknown: 1, Shared: 97, Removals: 301, Judged: 253, LostReleases: 4,
	}
	c.Client = &history.Client{
		Asked: 300, Delivered: 299, Errors: map[string]int{"too many open files <b>": 1},
		Loop: "open", AskedRate: 500, Rate: 480,
		Lag: 3 * time.Millisecond, Away: 40 * time.Millisecond, Longest: 12 * time.Millisecond, Start: 2 * time.Millisecond,
		FromSent: history.Latency{P50: time.Millisecond, P99: 9 * time.Millisecond, Max: 10 * time.Millisecond},
	}
	doc := render(t, run)
	sound(t, doc)
	says(t, doc, "<b>Evidence for ok</b> 100 sales, 198 of 200 refusals checked, ", "<dt>sent per second</dt><dd>480</dd>",
		"<dt>requested per second</dt><dd>500</dd>",
		"1 times: too many open files <b>", "<dt>sent after due, p99</dt><dd>3.00 ms</dd>",
		"40 ms in all, 12 ms at once", "1.00 ms and 9.00 ms",
		"<dt>not sent</dt><dd>1</dd>")
	c.Coverage, c.Client = nil, nil
	doc = render(t, run)
	assert.NotContains(t, doc, "Evidence for ok")
	assert.NotContains(t, doc, "The client</h4>")
}

func TestInvalidCell(t *testing.T) {
	run := runOf(cellOf("two-instances", "v4", sale("o1", "a", 100, 10, 20)))
	run.Cells[0].Findings = []history.Finding{{
		Verdict: history.Valid, Result: history.Invalid, Because: "765 of 1000 requests never left",
	}}
	doc := render(t, run)
	es := sound(t, doc)
	says(t, doc, "<b>Not valid:</b> 765 of 1000 requests never left", "says nothing about the lock")
	assert.Equal(t, 1, count(es, "span", "badge invalid"))
	assert.NotContains(t, doc, "No violation was found")
}
