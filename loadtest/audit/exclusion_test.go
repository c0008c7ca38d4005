package audit_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"stockapi/loadtest/history"
)

// An order that was stopped and then found its lease lost held the lock when it acquired it, until an unknown time. One
// that went on to sell or to write believed in its lease all along, and so did one that was never stopped.
func TestExclusionOfStoppedOrder(t *testing.T) {
	stop := func(noticed bool, kind history.FaultKind) *history.Cell {
		c := forge(5)
		hold(c, 1, 25*ms) // order 2 acquired it at 22
		c.Ops[1].Lease.Lost, c.Ops[1].Lease.Noticed = true, noticed
		c.Faults = []history.Fault{{Order: c.Ops[1].Order, Instance: "b", Text: "stopped", Kind: kind,
			At: 15 * ms, End: 24 * ms}}
		return c
	}
	judge(t, stop(true, history.FaultStop), history.Exclusion, history.OK)
	judge(t, stop(false, history.FaultStop), history.Exclusion, history.Broken)
	judge(t, stop(true, ""), history.Exclusion, history.Broken)
	c := stop(true, history.FaultStop)
	hold(c, 0, 14*ms) // and order 1 acquired it at 12
	judge(t, c, history.Exclusion, history.Broken)
	c = stop(true, history.FaultStop)
	c.Faults[0].Order = c.Ops[2].Order
	judge(t, c, history.Exclusion, history.Broken)
}

func TestSingleLeaseProvesNothing(t *testing.T) {
	c := forge(5)
	c.Ops = c.Ops[:1]
	judge(t, c, history.Exclusion, history.Indeterminate)
}

// Readers share the lock with each other, and with no writer.
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
	c := forge(5)
	for i := range c.Ops {
		c.Ops[i].Phase = history.Reading
	}
	f := judge(t, c, history.Exclusion, history.Indeterminate)
	assert.Equal(t, "no two leases can be compared: readers share the lock", f.Because)
	c = forge(5) // the writer that ends last counts, not the last one
	hold(c, 0, 45*ms)
	c.Ops[2].Phase, c.Ops[3].Phase = history.Reading, history.Reading
	f = judge(t, c, history.Exclusion, history.Broken)
	assert.Equal(t, []string{"p-0", "p-3"}, f.Evidence[2].Orders)
}

func TestExclusionNeedsAllLeases(t *testing.T) {
	c := forge(5)
	c.Ops[2].Lease = nil
	f := judge(t, c, history.Exclusion, history.Indeterminate)
	assert.Equal(t, "of 6 orders that must have held the lock, 5 returned a whole lease",
		f.Because)

	c = forge(5)
	c.Ops[2].Lease.ReleasedAt = history.Never
	judge(t, c, history.Exclusion, history.Indeterminate)
	c.Ops, c.Faults = c.Ops[:1], []history.Fault{{Text: "held"}}
	judge(t, c, history.Exclusion, history.OK)
	c = forge(5)
	c.Ops[2].Lease.ReleasedAt = history.Never
	c.Faults = []history.Fault{{Order: c.Ops[2].Order, Kind: history.FaultKill, Text: "killed"}}
	judge(t, c, history.Exclusion, history.OK)
}

// If the stock refuses the late write, the overlap does no harm, and the text says so first.
func TestExclusionReportsRefusedWrites(t *testing.T) {
	c := forge(5)
	hold(c, 1, 25*ms)
	assert.NotContains(t, judge(t, c, history.Exclusion, history.Broken).Because, "refused")
	c.Ops[1].Trace = append(c.Ops[1].Trace, history.Command{
		Cmd: "eval:write", Key: "ProductStock_p", At: 24 * ms, End: 25 * ms, Err: "STALE a newer token has been seen",
	})
	assert.Contains(t, judge(t, c, history.Exclusion, history.Broken).Because,
		"lock broken, stock safe: the stock refused order 1's late write (token 2 < 3); order 1 on b")
	c.Ops[2].Lease.Fence = 1
	assert.NotContains(t, judge(t, c, history.Exclusion, history.Broken).Because, "token", "it was not the smaller one")
	c.Ops[1].Lease.Fence, c.Ops[2].Lease.Fence = 0, 3
	assert.NotContains(t, judge(t, c, history.Exclusion, history.Broken).Because, "token", "it had none")
	c.Ops[1].Trace, c.Ops[2].Trace = c.Ops[1].Trace[:2], append(c.Ops[2].Trace, c.Ops[1].Trace[2])
	assert.Contains(t, judge(t, c, history.Exclusion, history.Broken).Because, "refused order 2's late write")
	c.Ops[2].Units = c.Ops[0].Units
	assert.NotContains(t, judge(t, c, history.Exclusion, history.Broken).Because, "stock safe")
}
