package catalog_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/history"
	"stockapi/loadtest/scenario"
)

// on makes a cell of a machine whose longest stall had this length.
func on(name, rung string, stoodStill time.Duration) *history.Cell {
	c := asTheTableSays(name, rung)
	c.TTL, c.Client = 500*time.Millisecond, &history.Client{Longest: stoodStill}
	return c
}

func set(c *history.Cell, v history.Verdict, r history.Result) *history.Cell {
	for i := range c.Findings {
		if c.Findings[i].Verdict == v {
			c.Findings[i] = history.Finding{Verdict: v, Result: r, Because: "so"}
		}
	}
	return c
}

// A slow machine excuses only what a stall of its length can cause.
func TestMachineTooSlow(t *testing.T) {
	const fast, slowForNodes, slow = 5 * time.Millisecond, 30 * time.Millisecond, 300 * time.Millisecond
	const broken = history.Broken
	for name, c := range map[string]struct {
		cell    *history.Cell
		invalid bool
	}{
		"fast, and stuck":                    {set(on("crash", "v4", fast), history.Liveness, broken), false},
		"slow, and stuck":                    {set(on("crash", "v4", slow), history.Liveness, broken), true},
		"slow, and sold twice under a lease": {set(on("slow-work", "v5", slow), history.Stock, broken), true},
		"fast, and sold twice under a lease": {set(on("slow-work", "v5", fast), history.Stock, broken), false},
		"slow, and did not break":            {set(on("slow-work", "v4", slow), history.Stock, history.OK), true},
		"slow, and unknown": {
			set(on("slow-work", "v4", slow), history.Stock, history.Indeterminate), true,
		},
		"slow, but it has no lease":             {set(on("slow-work", "v17", slow), history.Stock, broken), false},
		"slow, but the stock is fenced":         {set(on("pause", "v15", slow), history.Stock, broken), false},
		"slow, but tokens depend on no time":    {set(on("pause", "v15", slow), history.Fence, broken), false},
		"slow, but a script compares":           {set(on("check-delete-gap", "v4", slow), history.OwnRelease, broken), false},
		"slow, and the lease expired in a gap":  {set(on("pause", "v3", slow), history.OwnRelease, broken), true},
		"slow, but no lease expires in a crowd": {set(on("two-instances", "v4", slow), history.Stock, broken), false},
		"slow, and the crowd's probe waited":    {set(on("two-instances", "v6", slow), history.Liveness, broken), true},
		"too slow for nodes":                    {set(on("crash", "v6", slowForNodes), history.Liveness, broken), true},
		"not too slow for nodes":                {set(on("crash", "v6", fast), history.Liveness, broken), false},
		"too slow for a server's 300 ms": {
			set(on("reply-lost", "v4", slow/3), history.Liveness, history.Indeterminate), true,
		},
		"not too slow for a server's 1 s": {set(on("crash", "v4", slow/3), history.Liveness, broken), false},
		"not too slow without nodes":      {set(on("crash", "v4", slowForNodes), history.Liveness, broken), false},
	} {
		surprises, why := assess(c.cell).Surprises, assess(c.cell).Invalid
		if c.invalid {
			assert.Empty(t, surprises, name)
			assert.Contains(t, why, "machine too slow for this cell", name)
		} else {
			assert.NotEmpty(t, surprises, name)
			assert.Empty(t, why, name)
		}
	}
	assert.Empty(t, assess(on("pause", "v4", slow)).Invalid, "as expected, on a slow machine too")
	two := set(set(on("slow-work", "v4", slow), history.Stock, history.OK), history.OwnRelease, history.Broken)
	assert.NotEmpty(t, assess(two).Surprises, "an excused difference does not excuse the other")
}

// A cell that a slow machine may have spoiled is run again, once, with its leases and timeouts lengthened alike.
func TestCellIsRepeatedWithLongerLeases(t *testing.T) {
	names := []string{"crash", "two-instances", "hung-holder", "failover", "cut-off"}
	specs, err := scenario.Table.Select(names, []string{"v4"}, 2, 1)
	require.NoError(t, err)
	by := map[string]catalog.Spec{}
	for _, s := range specs {
		by[s.Scenario.Name] = s
	}
	cut := on("crash", "v4", 300*time.Millisecond)
	cut.Aborted = "it was not held"
	again, slow := by["crash"].AgainLonger(cut)
	require.True(t, slow)
	assert.Equal(t, 2*time.Second, again.Scenario.Lease())
	assert.InDelta(t, 4, again.Patience(), 0)
	assert.Zero(t, by["crash"].Patience())
	_, slow = again.AgainLonger(cut)
	assert.False(t, slow, "once")
	fast := on("crash", "v4", 5*time.Millisecond)
	fast.Aborted = cut.Aborted
	_, slow = by["crash"].AgainLonger(fast)
	assert.True(t, slow, "a server may have been slow")
	assert.NotEmpty(t, assess(fast).Surprises, "not excused if it happens again")
	_, slow = by["crash"].AgainLonger(on("crash", "v4", 300*time.Millisecond))
	assert.False(t, slow, "it is as expected")
	stuck := set(on("crash", "v4", 5*time.Millisecond), history.Liveness, history.Broken)
	stuck.Elapsed = time.Second
	_, slow = by["crash"].AgainLonger(stuck)
	assert.False(t, slow, "the machine was quiet")
	stuck.Client.Away = 150 * time.Millisecond
	_, slow = by["crash"].AgainLonger(stuck)
	assert.True(t, slow, "an instance may have stalled for longer than the generator did")
	assert.NotEmpty(t, assess(stuck).Surprises, "not excused if it happens again")
	crowd := set(on("two-instances", "v4", time.Second), history.Liveness, history.Broken)
	_, slow = by["two-instances"].AgainLonger(crowd)
	assert.False(t, slow, "a crowd's leases are long")
	hung := by["hung-holder"].Longer(4)
	assert.Equal(t, 4*time.Second, hung.Scenario.Lease())
	assert.Equal(t, 12*time.Second, hung.Scenario.Within)
	assert.Equal(t, 1200*time.Millisecond, by["cut-off"].Longer(4).Scenario.Timeout)
	assert.Equal(t, by["failover"].Scenario.Lease(), by["failover"].Longer(4).Scenario.Lease(), "long enough")
	cut.Longer = 4
	assert.Contains(t, assess(cut).Invalid, "4 times the scenario's own")
}

// A cell that does not measure the service is neither as expected nor a surprise.
func TestCellNotValid(t *testing.T) {
	c := asTheTableSays("two-instances", "v17")
	notSent := history.Finding{Verdict: history.Valid, Result: history.Invalid, Because: "765 of 1000 were not sent"}
	c.Findings = append([]history.Finding{notSent}, c.Findings...)
	set(c, history.Stock, history.Indeterminate)
	rows := scenario.Table.Assess([]*history.Cell{c, asTheTableSays("two-instances", "v17")})
	assert.Equal(t, 1, rows[0].Met)
	assert.Equal(t, 2, rows[0].Ran())
	assert.Empty(t, rows[0].Surprises)
	assert.Equal(t, []string{"two-instances v17 atomic: not valid: 765 of 1000 were not sent"}, rows[0].Invalid)
	assert.Same(t, c, rows[0].Shown().Cell)
	assert.False(t, catalog.AllMeasured(rows))
}
