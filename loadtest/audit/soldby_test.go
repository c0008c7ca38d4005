package audit_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/history"
)

// servedUnder has orders served under the lease of another order of the same instance, at the same time.
func servedUnder(c *history.Cell, by int, orders ...int) {
	of := &c.Ops[by]
	for _, i := range orders {
		op := &c.Ops[i]
		op.Instance, op.Sent, op.Done = of.Instance, of.Sent+ms, of.Done+ms
		op.Lease, op.Trace, op.SoldBy = nil, nil, of.Order
	}
}

// batches is a cell of four leases: orders 1 and 2 were served under that of order 0, and order 4, which was refused,
// under that of order 3.
func batches() *history.Cell {
	c := forge(7)
	servedUnder(c, 0, 1, 2)
	servedUnder(c, 3, 4)
	c.Ops[4].Outcome, c.Ops[4].Status, c.Ops[4].Units, c.Ops[4].Quantity = history.Refused, 409, nil, 9
	c.Ops[5].Units, c.Ops[6].Units = []int64{6}, []int64{5}
	*c.Left = 4
	return c
}

func TestSoldByNeedsNoLease(t *testing.T) {
	c := batches()
	for _, f := range findings(c) {
		assert.NotEqual(t, history.Broken, f.Result, "%s: %s", f.Verdict, f.Because)
		assert.NotEqual(t, history.Indeterminate, f.Result, "%s: %s", f.Verdict, f.Because)
	}
	judge(t, c, history.Exclusion, history.OK)
	judge(t, c, history.OwnRelease, history.OK)
	judge(t, c, history.Fence, history.OK)
	cover := coverage(c)
	assert.Equal(t, []int{5, 5, 3}, []int{cover.Leases, cover.Expected, cover.Shared})

	c.Ops[1], c.Ops[5] = c.Ops[5], c.Ops[1] // in any order of the ops
	c.Ops[0], c.Ops[2] = c.Ops[2], c.Ops[0]
	judge(t, c, history.Exclusion, history.OK)
}

// A shared lease that overlaps another is a violation like any.
func TestSharedLeaseExcludesOthers(t *testing.T) {
	c := batches()
	hold(c, 0, 35*ms) // order 3 acquired it at 32
	judge(t, c, history.Exclusion, history.Broken)
	c = batches()
	c.Ops[0].Lease.ReleasedAt = history.Never
	f := judge(t, c, history.Exclusion, history.Indeterminate)
	assert.Contains(t, f.Because, "order 1 on a names order 0 as its seller, whose lease has no release (one of 2)")
}

// An order that names an impossible seller had a lease that it did not return.
func TestSoldByImpossibleIsDoubted(t *testing.T) {
	cases := []struct {
		name  string
		forge func(c *history.Cell, op *history.Op)
		why   string
	}{
		{"one that does not exist", func(_ *history.Cell, op *history.Op) { op.SoldBy = "p-99" },
			"order 2 on a names order 99 as its seller, which is not in the cell"},
		{"itself", func(_ *history.Cell, op *history.Op) { op.SoldBy = op.Order },
			"order 2 on a names order 2 as its seller, which is itself"},
		{"one of another instance", func(_ *history.Cell, op *history.Op) { op.Instance = "b" },
			"order 2 on b names order 0 as its seller, which is an order of a"},
		{"one that names another", func(_ *history.Cell, op *history.Op) { op.SoldBy = "p-1" },
			"order 2 on a names order 1 as its seller, which itself names order 0"},
		{"one that names another and has a lease", func(c *history.Cell, _ *history.Op) { c.Ops[0].SoldBy = "p-3" },
			"order 1 on a names order 0 as its seller, which itself names order 3 (one of 2)"},
		{"one without a lease", func(c *history.Cell, _ *history.Op) { c.Ops[0].Lease = nil },
			"order 1 on a names order 0 as its seller, which returned no lease (one of 2)"},
		{"one whose lease has no beginning",
			func(c *history.Cell, _ *history.Op) { c.Ops[0].Lease.AcquiredAt = history.Never },
			"order 1 on a names order 0 as its seller, which returned no lease (one of 2)"},
		{"one that had been answered", func(_ *history.Cell, op *history.Op) { op.Sent, op.Done = 10*ms, 15*ms },
			"order 2 on a, sent at +0.010 s, names order 0 as its seller, whose lease had ended by +0.008 s"},
		{"one whose lease had ended, as the clocks show, though it was answered late",
			func(c *history.Cell, op *history.Op) { c.Ops[0].Done, op.Sent, op.Done = 50*ms, 20*ms, 25*ms },
			"order 2 on a, sent at +0.020 s, names order 0 as its seller, whose lease had ended by +0.008 s"},
		{"one whose lease began later", func(c *history.Cell, op *history.Op) { op.SoldBy, op.Done = "p-6", 60*ms },
			"order 2 on a, answered at +0.060 s, names order 6 as its seller, whose lease began at +0.061 s or later"},
		{"one, and wrote the stock itself",
			func(_ *history.Cell, op *history.Op) {
				op.Trace = []history.Command{{Node: "n", Cmd: "eval:write", Key: "ProductStock_p", At: 3 * ms, End: 4 * ms}}
			},
			"order 2 on a names order 0 as its seller, but wrote the stock itself"},
	}
	for _, one := range cases {
		t.Run(one.name, func(t *testing.T) {
			c := batches()
			one.forge(c, &c.Ops[2])
			for _, f := range findings(c) {
				assert.NotEqual(t, history.Broken, f.Result, f.Because)
			}
			f := judge(t, c, history.Exclusion, history.Indeterminate)
			assert.Contains(t, f.Because, one.why)
			assert.Regexp(t, `^of \d orders that must have held the lock, `+
				`\d returned a whole lease: `, f.Because)
			f = judge(t, c, history.Fence, history.Indeterminate)
			assert.Contains(t, f.Because, one.why)
		})
	}
}

// An order that waited long may have been served under the lease of one that arrived later.
func TestSoldByMayPredateTheLease(t *testing.T) {
	c := batches()
	c.Ops[2].SoldBy, c.Ops[2].Done = "p-6", 70*ms
	judge(t, c, history.Exclusion, history.OK)
	c.Ops[2].Sent = 67*ms - ms/2 // within the lease
	judge(t, c, history.Exclusion, history.OK)
}

// Orders without a lease need return no trace if their seller does.
func TestTraceOfSeller(t *testing.T) {
	c := batches()
	c.Ops[0].Outcome, c.Ops[0].Units, c.Ops[0].Trace = history.NotSold, nil, nil // it sold only for others
	*c.Left = 5
	f := judge(t, c, history.OwnRelease, history.Indeterminate)
	assert.Equal(t, "of 7 orders that must have held the lock, 2 returned no trace", f.Because)

	c = batches()
	c.Ops[2].SoldBy = "p-99"
	f = judge(t, c, history.OwnRelease, history.Indeterminate)
	assert.Equal(t, "of 8 orders that must have held the lock, 1 returned no trace", f.Because)
}

// If none of a batch is sold, the order that returns the lease need not be the one that read the stock.
func TestTraceOfBatchFromAnyOrder(t *testing.T) {
	c := batches()
	c.Ops[3].Outcome, c.Ops[3].Status, c.Ops[3].Units, c.Ops[3].Quantity = history.Refused, 409, nil, 9
	c.Ops[3].Trace, c.Ops[4].Trace = nil, c.Ops[3].Trace
	*c.Left = 5
	judge(t, c, history.OwnRelease, history.OK)

	c.Ops[4].Trace = nil
	f := judge(t, c, history.OwnRelease, history.Indeterminate)
	assert.Equal(t, "of 8 orders that must have held the lock, 2 returned no trace", f.Because)
}

// A cell without leases is that of a rung without a lock, unless its orders name sellers.
func TestSoldByWithoutAnyLease(t *testing.T) {
	c := batches()
	for i := range c.Ops {
		c.Ops[i].Lease, c.Ops[i].SoldBy = nil, "p-99"
	}
	judge(t, c, history.Exclusion, history.Indeterminate)
	judge(t, c, history.Fence, history.NotApplicable)
}

// An order that need not have held the lock may name any seller.
func TestSoldByOfOrderWithoutSale(t *testing.T) {
	for outcome, want := range map[history.Outcome]history.Result{
		history.Busy: history.OK, history.NotSold: history.OK, history.Unknown: history.Indeterminate,
	} {
		c := batches()
		c.Ops[2].Outcome, c.Ops[2].Units, c.Ops[2].SoldBy = outcome, nil, "p-99"
		judge(t, c, history.Exclusion, want)
	}
}

// One write without a reply may have sold to its whole batch.
func TestLostWriteCoversTheBatch(t *testing.T) {
	lost := func() *history.Cell {
		c := batches()
		for i := range 3 {
			op := &c.Ops[i]
			op.Outcome, op.Status, op.Units = history.Unknown, 500, nil
		}
		cmd := lostSet
		cmd.At, cmd.End = 3*ms, 4*ms
		c.Ops[0].Trace = append(c.Ops[0].Trace, cmd)
		return c
	}
	for _, v := range []history.Verdict{history.Stock, history.Exclusion, history.OwnRelease, history.Fence} {
		judge(t, lost(), v, history.OK)
	}
	c := lost()
	c.Ops[2].SoldBy, c.Ops[2].Instance = "p-3", "b" // whose write had a reply
	c.Ops[2].Sent, c.Ops[2].Done = 31*ms, 39*ms
	judge(t, c, history.Exclusion, history.OK)
	judge(t, c, history.Stock, history.Indeterminate)
}

func TestSoldByAfterTheLeaseIsAlwaysDoubted(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 9))
		c := crowd(r, conditions{stalls: true, batches: true})
		var shared []*history.Op
		done := map[string]history.Instant{}
		for i := range c.Ops {
			done[c.Ops[i].Order] = c.Ops[i].Done
			if c.Ops[i].SoldBy != "" {
				shared = append(shared, &c.Ops[i])
			}
		}
		if len(shared) == 0 {
			continue // each has a lease of its own
		}
		late := shared[r.IntN(len(shared))]
		late.Sent = done[late.SoldBy] + 1
		late.Due, late.Done = late.Sent, late.Sent+history.Instant(late.Latency)
		f := history.FindingOf(findings(c), history.Exclusion)
		require.Equal(t, history.Indeterminate, f.Result, "seed %d: %s", seed, f.Because)
		require.Contains(t, f.Because, "as its seller", "seed %d", seed)
	}
}
