package audit_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"stockapi/loadtest/history"
)

// hold has order i hold the lock until then.
func hold(c *history.Cell, i int, until history.Instant) {
	c.Ops[i].Lease.ReleasedAt, c.Ops[i].Done = until, until+2*ms
}

func TestExclusionFindsTwoHolders(t *testing.T) {
	c := forge(5)
	hold(c, 1, 25*ms) // order 2 came in at 22
	f := judge(t, c, history.Exclusion, history.Broken)
	assert.Equal(t, "order 1 on b and order 2 on a both held the lock for 3.000 ms at +0.022 s", f.Because)
}

func TestExclusionSeesPastTheNearestNeighbour(t *testing.T) {
	c := forge(5)
	hold(c, 0, 48*ms) // over all the others
	f := judge(t, c, history.Exclusion, history.Broken)
	assert.Contains(t, f.Because, "the first of 4")
}

func TestExclusionCountsHoldersThatSoldNothing(t *testing.T) {
	c := forge(5)
	hold(c, 1, 25*ms)
	for i := range c.Ops {
		c.Ops[i].Outcome, c.Ops[i].Units = history.Refused, nil
	}
	judge(t, c, history.Exclusion, history.Broken)
}

// An order that was stopped and then found its lease lost held the lock when it was taken, and nobody knows until when.
// One that went on to sell or to write believed in its lease all the time, and so did one that was never stopped.
func TestExclusionOfAnOrderThatWasStopped(t *testing.T) {
	stop := func(noticed, stopped bool) *history.Cell {
		c := forge(5)
		hold(c, 1, 25*ms) // order 2 came in at 22
		c.Ops[1].Lease.Lost, c.Ops[1].Lease.Noticed = true, noticed
		c.Faults = []history.Fault{{Order: c.Ops[1].Order, Instance: "b", Text: "stopped", Stopped: stopped,
			At: 15 * ms, End: 24 * ms}}
		return c
	}
	judge(t, stop(true, true), history.Exclusion, history.OK)
	judge(t, stop(false, true), history.Exclusion, history.Broken)
	judge(t, stop(true, false), history.Exclusion, history.Broken)
	c := stop(true, true)
	hold(c, 0, 14*ms) // and order 1 came in at 12
	judge(t, c, history.Exclusion, history.Broken)
	c = stop(true, true)
	c.Faults[0].Order = c.Ops[2].Order
	judge(t, c, history.Exclusion, history.Broken)
}

func TestExclusionTouchingIsNotOverlapping(t *testing.T) {
	c := forge(5)
	hold(c, 1, 22*ms)
	judge(t, c, history.Exclusion, history.OK)
}

func TestExclusionWithALostAnswerIsUnknown(t *testing.T) {
	c := forge(5)
	lose(&c.Ops[4])
	judge(t, c, history.Exclusion, history.Indeterminate)
}

// The instances' clocks are their own from here on: b's is an hour ahead.
func twoClocks() *history.Cell {
	c := forge(8)
	c.Instances[1].Clock = "other"
	for i := range c.Ops {
		if c.Ops[i].Instance == "b" {
			shift(&c.Ops[i], 3_600_000*ms)
		}
	}
	return c
}

func TestClocksThatDifferByAnHourAreBoundedByTheHistory(t *testing.T) {
	judge(t, twoClocks(), history.Exclusion, history.OK)
	judge(t, twoClocks(), history.OwnRelease, history.OK)
	judge(t, twoClocks(), history.Fence, history.OK)
}

func TestOverlapBeyondTheClocksUncertaintyCounts(t *testing.T) {
	c := twoClocks()
	c.Ops[3].Lease.ReleasedAt += 18 * ms // until 55 by the client's clock
	c.Ops[3].Done += 18 * ms
	f := judge(t, c, history.Exclusion, history.Broken)
	assert.Contains(t, f.Because, "order 3 on b and order 4 on a both held the lock for at least 5.000 ms")
	assert.Contains(t, f.Because, "clocks known to 4.000 ms")
}

// Where nobody came before, or after, a clock may have been set in the middle.
func TestOverlapOfTheFirstOnItsClockIsUnknown(t *testing.T) {
	c := twoClocks()
	c.Ops[1].Lease.ReleasedAt += 8 * ms // until 25, three more than order 2 came in
	c.Ops[1].Done += 8 * ms
	judge(t, c, history.Exclusion, history.Indeterminate)
}

// Unless the clocks were asked themselves, before the cell and after it, and had not been set.
func TestOverlapOfTheFirstOnClocksThatWereAskedCounts(t *testing.T) {
	c := twoClocks()
	c.Ops[1].Lease.ReleasedAt += 8 * ms
	c.Ops[1].Done += 8 * ms
	whole := history.Offset{Least: -time.Hour, Most: time.Hour}
	for i := range c.Instances {
		c.Instances[i].Offsets = []history.Offset{whole, whole}
	}
	judge(t, c, history.Exclusion, history.Broken)
	for i := range c.Instances { // nobody asked again
		c.Instances[i].Offsets = []history.Offset{whole}
	}
	judge(t, c, history.Exclusion, history.Indeterminate)
	for i := range c.Instances { // both were set meanwhile
		c.Instances[i].Offsets = []history.Offset{whole, {Least: 2 * time.Hour, Most: 3 * time.Hour}}
	}
	judge(t, c, history.Exclusion, history.Indeterminate)
}

func TestASingleLeaseProvesNothing(t *testing.T) {
	c := twoClocks()
	c.Ops = c.Ops[:1]
	judge(t, c, history.Exclusion, history.Indeterminate)
}

func TestOverlapWithinTheClocksUncertaintyDoesNot(t *testing.T) {
	c := twoClocks()
	c.Ops[1].Lease.ReleasedAt += 6 * ms // until 23, one more than order 2 came in
	c.Ops[1].Done += 6 * ms
	judge(t, c, history.Exclusion, history.OK)
}

func TestAClockThatWasSetLeavesItUnknown(t *testing.T) {
	c := twoClocks()
	shift(&c.Ops[3], -60_000*ms)
	judge(t, c, history.Exclusion, history.Indeterminate)
	judge(t, c, history.Fence, history.Indeterminate)
}

// Readers share the lock with each other, and with nobody else.
func TestExclusionOfReaders(t *testing.T) {
	for phases, want := range map[[2]history.Phase]history.Result{
		{history.Reading, history.Reading}: history.OK,
		{history.Reading, history.Buy}:     history.Broken,
		{history.Buy, history.Reading}:     history.Broken,
	} {
		c := forge(5)
		c.Ops[0].Phase, c.Ops[1].Phase = phases[0], phases[1]
		c.Ops[0].Lease.ReleasedAt, c.Ops[0].Done = 15*ms, 17*ms // inside while order 1 is
		judge(t, c, history.Exclusion, want)
	}
}

func TestExclusionRestsOnTheLeasesOfAll(t *testing.T) {
	c := forge(5)
	c.Ops[2].Lease = nil
	f := judge(t, c, history.Exclusion, history.Indeterminate)
	assert.Equal(t, "of 6 orders that must have held the lock, the lease of 5 was seen from its beginning to its end",
		f.Because)

	c = forge(5)
	c.Ops[2].Lease.ReleasedAt = history.Never
	judge(t, c, history.Exclusion, history.Indeterminate)
	c.Faults = []history.Fault{{Order: c.Ops[2].Order, Text: "killed"}}
	judge(t, c, history.Exclusion, history.OK)

	c = forge(5)
	c.Ops[2].Instance = "nobody"
	f = judge(t, c, history.Exclusion, history.Indeterminate)
	assert.Contains(t, f.Because, `"nobody" was not asked who it is`)
}

func TestExclusionNeedsClocksThatWouldShowIt(t *testing.T) {
	c := twoClocks()
	for i := range c.Ops {
		c.Ops[i].Lease.ReleasedAt = c.Ops[i].Lease.AcquiredAt + 3*ms
	}
	f := judge(t, c, history.Exclusion, history.Indeterminate)
	assert.Equal(t, "the clocks show overlaps of more than 4.000 ms, and half of the leases last no longer than 3.000 ms",
		f.Because)
}

func TestAShortOverlapIsNotToldAsNone(t *testing.T) {
	c := forge(5)
	hold(c, 1, 22*ms+7)
	f := judge(t, c, history.Exclusion, history.Broken)
	assert.Contains(t, f.Because, "both held the lock for 0.000007 ms")
}

// Whoever came after the clock had been set back is answered late by as much. An answer that is late alone is just
// late.
func TestAnOverlapThatLateAnswersExplainIsUnknown(t *testing.T) {
	c := forge(5)
	hold(c, 1, 25*ms) // order 2 came in at 22
	for i := 2; i <= 5; i++ {
		c.Ops[i].Done += 4 * ms
	}
	judge(t, c, history.Exclusion, history.Indeterminate)
	c.Ops[3].Done -= 4 * ms
	judge(t, c, history.Exclusion, history.Broken)
}
