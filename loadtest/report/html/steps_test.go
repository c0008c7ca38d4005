package html_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/audit"
	"stockapi/loadtest/history"
	"stockapi/loadtest/report/html"
)

// stepped is a schedule of v4: o1 takes the lock and reads, its lease of 2 s ends, o2 takes the lock and sells, and o1
// sells the same unit.
func stepped() (*history.Cell, []history.Step) {
	const over = 2001 * time.Millisecond
	passed := []time.Duration{0, 0, over, over, over, over, over}
	var steps []history.Step
	for _, p := range passed {
		steps = append(steps, history.Step{Passed: p})
	}
	at := func(step int) history.Instant { return history.StepAt(step-1, passed[step-1]) }
	nodes := map[string]string{"lock": "lock", "ProductStock_x": "stock"}
	call := func(step int, cmd, key, reply string) history.Command {
		return history.Command{Node: nodes[key], Cmd: cmd, Key: key, At: at(step), End: at(step), Reply: reply}
	}
	c := cellOf("schedule", "v4",
		history.Op{Order: "o1", Instance: "a", Outcome: history.Sold, Units: []int64{1}, Sent: at(1), Done: history.Never,
			Lease: &history.Lease{AcquiredAt: at(1), ReleasedAt: history.Never},
			Trace: []history.Command{call(1, "set", "lock", "true"), call(2, "get", "ProductStock_x", "1"),
				call(7, "set", "ProductStock_x", "OK")}},
		history.Op{Order: "o2", Instance: "b", Outcome: history.Sold, Units: []int64{1}, Sent: at(4), Done: history.Never,
			Lease: &history.Lease{AcquiredAt: at(4), ReleasedAt: history.Never},
			Trace: []history.Command{call(4, "set", "lock", "true"), call(5, "get", "ProductStock_x", "1"),
				call(6, "set", "ProductStock_x", "OK")}})
	c.Initial, c.TTL = 1, 2*time.Second
	c.Faults = []history.Fault{{On: "time", Text: "time passes", At: at(2), End: at(3)}}
	c.Findings, _ = audit.Judge(c)
	return c, steps
}

func TestStepsLieOneUnitApart(t *testing.T) {
	c, steps := stepped()
	all := timelinesOf(t, string(html.DrawSteps(c, steps)))
	require.Len(t, all, 1)
	shapes := all[0]
	x := map[string]float64{}
	for _, s := range of(shapes, "axis", "") {
		x[s.text] = s.number("x")
	}
	unit := x["2"] - x["1"]
	for i := range steps {
		assert.InDelta(t, x["1"]+float64(i)*unit, x[fmt.Sprint(i+1)], 1, "step %d", i+1)
	}
	bars := of(shapes, "bar", "order")
	require.Len(t, bars, 2)
	assert.InDelta(t, x["1"], bars[0].number("x"), 1)
	assert.InDelta(t, x["4"], bars[1].number("x"), 1)
	end := bars[0].number("x") + bars[0].number("width")
	assert.True(t, x["2"]+unit/2 < end && end < x["3"], "the TTL is over within the step in which time passes: %g", end)
	assert.InDelta(t, unit, of(shapes, "fault", "")[0].number("width"), 1)
	for _, text := range []string{"step", "client a", "clock", "+2.001 s", "unit 1 sold twice", "set lock", "get stock"} {
		assert.Contains(t, texts(shapes), text)
	}
	assert.Len(t, of(shapes, "sent", "order"), 2, "the acquires")
}

// A time is said by its step. One between two steps is said by the clock.
func TestATimeIsSaidByItsStep(t *testing.T) {
	c, steps := stepped()
	doc := string(html.DrawSteps(c, steps))
	says(t, doc, "held by order o1 on a from step 1", "TTL over at +2.000 s", "lease step 4 to never")
}

// Many steps leave no room for all of their numbers, and for no word that would cover another.
func TestManySteps(t *testing.T) {
	c, _ := stepped()
	steps := make([]history.Step, 200)
	shapes := timelinesOf(t, string(html.DrawSteps(c, steps)))[0]
	last := 0.0
	for _, s := range of(shapes, "axis", "") {
		if s.text != "" && s.text != "step" {
			assert.Greater(t, s.number("x"), last+10)
			last = s.number("x")
		}
	}
	legible(t, "200 steps", "<p>"+string(html.DrawSteps(c, steps))+"</p>")
}

// What the explorer alone asks is about the lock and about waiters: where it breaks, the stock may be right.
func TestAPromiseThatBreaksIsNoBrokenStock(t *testing.T) {
	for v, class := range map[history.Verdict]string{
		history.Nested: "broken lock-broken", history.WakeUp: "broken stuck", history.Undo: "broken stuck",
		history.LostLease: "broken lock-broken", "forged": "broken stock-broken",
	} {
		assert.Equal(t, class, html.SignOf([]history.Finding{{Verdict: v, Result: history.Broken}}), v)
	}
}
