package catalog_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/history"
	"stockapi/loadtest/scenario"
)

// asTheTableSays makes a cell with exactly the findings expected.
func asTheTableSays(name, rung string) *history.Cell {
	s, _ := scenario.Table.Find(name)
	e, _ := s.Expected(rung)
	c := &history.Cell{Scenario: name, Rung: rung, Name: catalog.NameOf(rung)}
	for _, v := range history.Verdicts {
		c.Findings = append(c.Findings, history.Finding{Verdict: v, Result: e.Results[v]})
	}
	return c
}

// assess compares a cell with the table.
func assess(c *history.Cell) *catalog.Assessment {
	s, _ := scenario.Table.Find(c.Scenario)
	return s.Assess(c)
}

// The cell of a replay has its own expectation: the verdicts that its trace breaks.
func TestReplayShouldBreakItsVerdicts(t *testing.T) {
	cell := &history.Cell{Kind: history.Replay, Scenario: "v4:aa.expiry.bbba", Rung: "v4", Findings: []history.Finding{
		{Verdict: history.Stock, Result: history.Broken}, {Verdict: history.Exclusion, Result: history.OK},
	}}
	assert.Empty(t, assess(cell).Surprises, "nothing was expected")
	cell.Breaks = []history.Verdict{history.Stock}
	assert.Empty(t, assess(cell).Surprises)
	cell.Breaks = []history.Verdict{history.Stock, history.Exclusion}
	surprises := assess(cell).Surprises
	assert.Len(t, surprises, 1)
	assert.Contains(t, strings.Join(surprises, ""), "exclusion was expected to be BROKEN and is ok")
}

func TestSurprisesInBothDirections(t *testing.T) {
	held, broke := asTheTableSays("one-instance", "v0"), asTheTableSays("one-instance", "v4")
	assert.Empty(t, assess(held).Surprises)
	assert.Empty(t, assess(broke).Surprises)
	held.Findings[0].Result = history.OK
	broke.Findings[0] = history.Finding{Verdict: history.Stock, Result: history.Broken, Because: "unit 7 twice"}
	assert.Equal(t, []string{"one-instance v0 nolock: stock was expected to be BROKEN and is ok"},
		assess(held).Surprises)
	assert.Equal(t, []string{"one-instance v4 lua-release: stock was expected to be ok and is BROKEN: unit 7 twice"},
		assess(broke).Surprises)
}

func TestUnknownIsNeverAsExpected(t *testing.T) {
	for _, s := range scenario.Table {
		for _, e := range s.Expect {
			for i := range history.Verdicts {
				c := asTheTableSays(s.Name, e.Rung)
				c.Findings[i].Result = history.Indeterminate
				assert.Empty(t, assess(c).Surprises, "an unknown verdict is no surprise")
				assert.Len(t, assess(c).Unknown, 1)
				rows := scenario.Table.Assess([]*history.Cell{asTheTableSays(s.Name, e.Rung), c})
				assert.Equal(t, 1, rows[0].Met)
				assert.Equal(t, assess(c).Unknown, rows[0].Unknown)
				assert.Same(t, c, rows[0].Shown().Cell)
				assert.False(t, catalog.AllMeasured(rows))
			}
		}
	}
}

// A verdict that was not judged, for a reason in the cell, is neither as expected nor a surprise.
func TestVerdictNotJudgedIsNotMeasured(t *testing.T) {
	c := asTheTableSays("two-instances", "v4")
	c.Client, c.TTL = &history.Client{Longest: time.Hour}, time.Second // a slow machine is not the reason
	c.Findings[1].Result, c.Findings[1].Because = history.NotApplicable, "not judged: two hosts"
	assert.Empty(t, assess(c).Surprises)
	assert.Equal(t, []string{"two-instances v4 lua-release: exclusion was expected to be ok and is –: " +
		"not judged: two hosts"}, assess(c).Unknown)
	rows := scenario.Table.Assess([]*history.Cell{c})
	assert.Zero(t, rows[0].Met)
	assert.False(t, catalog.AllMeasured(rows))
}

// An unknown verdict does not hide that another one is unexpectedly broken.
func TestSurpriseBesideUnknown(t *testing.T) {
	c := asTheTableSays("one-instance", "v4")
	c.Findings[0].Result, c.Findings[1].Result = history.Indeterminate, history.Broken
	assert.Equal(t, []string{"one-instance v4 lua-release: exclusion was expected to be ok and is BROKEN"},
		assess(c).Surprises)
	assert.Equal(t, []string{"one-instance v4 lua-release: stock was expected to be ok and is unknown"},
		assess(c).Unknown)
}

// A defect of a shop on trial counts even if a busy machine voids the verdicts: the commands alone show it.
func TestDefectNeedsNoQuietMachine(t *testing.T) {
	c := &history.Cell{Kind: history.Trial, Scenario: "crash 1", Rung: "shop.py",
		Findings: []history.Finding{{Verdict: history.Valid, Result: history.Invalid, Because: "slow"}}}
	assert.Contains(t, assess(c).Invalid, "not valid: slow")
	c.Defect = &history.Defect{Cause: "no TTL, as v1", Shown: "so"}
	assert.Empty(t, assess(c).Invalid)
	assert.Equal(t, []string{"try crash 1 shop.py: a defect: no TTL, as v1: so"}, assess(c).Surprises)
}

func TestUnlistedCellIsASurprise(t *testing.T) {
	assert.Len(t, assess(&history.Cell{Scenario: "rain", Rung: "v4"}).Surprises, 1)
}

func TestRowsCountRepetitions(t *testing.T) {
	good, bad := asTheTableSays("one-instance", "v4"), asTheTableSays("one-instance", "v4")
	bad.Repetition, bad.Findings[3].Result = 2, history.Broken
	skipped := &history.Cell{Scenario: "one-instance", Rung: "v6", Name: "redlock",
		NotTested: &history.NotTested{Reason: "needs nodes"}}
	rows := scenario.Table.Assess([]*history.Cell{good, bad, skipped})
	assert.Len(t, rows, 2)
	assert.Equal(t, 1, rows[0].Met)
	assert.Equal(t, 2, rows[0].Ran())
	assert.Same(t, bad, rows[0].Shown().Cell, "the row shows what was not as expected")
	assert.Zero(t, rows[1].Ran())
	assert.Empty(t, rows[1].Surprises)
}
