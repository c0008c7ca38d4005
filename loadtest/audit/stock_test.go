package audit_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"stockapi/loadtest/audit"
	"stockapi/loadtest/history"
)

func TestStockFindsUnitSoldTwice(t *testing.T) {
	c := forge(5)
	c.Ops[3].Units = []int64{9} // as order 1 was
	f := judge(t, c, history.Stock, history.Broken)
	assert.Equal(t, "b sold unit 9 to order 1 at +0.019 s; b sold unit 9 again to order 3 at +0.039 s", f.Because)
	assert.Equal(t, int64(9), f.Evidence[0].Unit)
	assert.Equal(t, []string{"p-1", "p-3"}, f.Evidence[0].Orders)
	assert.Equal(t, f.Because, audit.Story(findings(c)))
}

// The earlier write sold the unit first, whichever was answered first, and the story has its time. Writes timed by two
// clocks are not compared.
func TestUnitIsSoldAgainByTheLaterWrite(t *testing.T) {
	c := forge(5)
	c.Ops[3].Units = []int64{9} // as order 1 was
	c.Ops[1].Done = 60 * ms
	for i, at := range map[int]history.Instant{1: 15 * ms, 3: 35 * ms} {
		write := history.Command{Node: "n", Cmd: "set", Key: "stock", At: at, End: at, Reply: "OK"}
		c.Ops[i].Trace = slices.Insert(c.Ops[i].Trace, 1, write)
	}
	f := judge(t, c, history.Stock, history.Broken)
	assert.Equal(t, "b sold unit 9 to order 1 at +0.015 s; b sold unit 9 again to order 3 at +0.035 s", f.Because)
	c.Instances[0].Clock = "another"
	f = history.FindingOf(findings(c), history.Stock)
	assert.Equal(t, "b sold unit 9 to order 3 at +0.039 s; b sold unit 9 again to order 1 at +0.060 s", f.Because)
}

func TestFinalStockProvesNothing(t *testing.T) {
	c := forge(5)
	c.Ops[3].Units = []int64{9}
	*c.Left = 5 // as if five different units had gone
	judge(t, c, history.Stock, history.Broken)
}

func TestStockFindsUnitsThatNeverExisted(t *testing.T) {
	for _, unit := range []int64{0, -1, 11} {
		c := forge(5)
		c.Ops[4].Units = []int64{unit}
		judge(t, c, history.Stock, history.Broken)
	}
}

func TestStockFindsImbalance(t *testing.T) {
	for _, left := range []int64{4, 6, 11, -1} {
		c := forge(5)
		*c.Left = left
		judge(t, c, history.Stock, history.Broken)
	}
}

// lostSet is a write of the stock whose reply was lost.
var lostSet = history.Command{Node: "n", Cmd: "set", Key: "ProductStock_p", At: 43 * ms, End: 44 * ms,
	Source: history.ReplyLost}

func TestStockWithLostAnswers(t *testing.T) {
	t.Run("each shows the write that explains a unit that is gone", func(t *testing.T) {
		c := forge(5)
		lose(&c.Ops[4])
		c.Ops[4].Trace = []history.Command{lostSet}
		judge(t, c, history.Stock, history.OK)
	})
	t.Run("one may have sold another's unit again", func(t *testing.T) {
		c := forge(5)
		lose(&c.Ops[4])
		*c.Left = 6
		judge(t, c, history.Stock, history.Indeterminate)
	})
	t.Run("they do not explain it", func(t *testing.T) {
		c := forge(5)
		lose(&c.Ops[4])
		*c.Left = 2
		judge(t, c, history.Stock, history.Broken)
	})
	t.Run("a definite violation stays one", func(t *testing.T) {
		c := forge(5)
		lose(&c.Ops[4])
		c.Ops[3].Units = []int64{9}
		judge(t, c, history.Stock, history.Broken)
	})
}

func TestStockThatCannotBeReadIsUnknown(t *testing.T) {
	c := forge(5)
	c.Left = nil
	judge(t, c, history.Stock, history.Indeterminate)
}

// A unit that a 200 names is sold, whatever else is wrong with the answer, and whichever order received it.
func TestReceiptsAreProofs(t *testing.T) {
	discarded := func(change func(op *history.Op)) *history.Cell {
		c := forge(5)
		op := &c.Ops[4]
		op.Outcome, op.Detail = history.Unknown, "200, but not as ordered"
		change(op)
		return c
	}
	for name, change := range map[string]func(op *history.Op){
		"two units, one of them sold already": func(op *history.Op) { op.Units = []int64{6, 8} },
		"another's unit":                      func(op *history.Op) { op.Units, op.For = []int64{9}, "p-2" },
		"the same unit twice":                 func(op *history.Op) { op.Units = []int64{6, 6} },
		"a unit that never existed":           func(op *history.Op) { op.Units = []int64{11} },
	} {
		t.Run(name, func(t *testing.T) {
			f := judge(t, discarded(change), history.Stock, history.Broken)
			assert.Contains(t, f.Because, "sold unit", "the receipt is the proof")
		})
	}
	judge(t, discarded(func(op *history.Op) { op.Units = nil }), history.Stock, history.Indeterminate)
}

// An answer that is delivered to two orders is one sale under one lease.
func TestAnswerToTwoOrdersIsOneSale(t *testing.T) {
	c := forge(5)
	c.InLine = true
	astray := &c.Ops[4]
	sent, done, order := astray.Sent, astray.Done, astray.Order
	*astray = c.Ops[1]
	astray.Order, astray.For, astray.Sent, astray.Done, astray.Outcome = order, "p-1", sent, done, history.Unknown
	for _, f := range findings(c) {
		if f.Verdict != history.Liveness && f.Verdict != history.Valid && f.Verdict != history.Herd {
			assert.Equal(t, history.Indeterminate, f.Result, "%s: %s", f.Verdict, f.Because)
		}
	}
	c.Initial, *c.Left = 5, 0 // N units, N answers of 200
	for i, units := range [][]int64{{5}, {4}, {3}, {2}, {4}} {
		c.Ops[i].Units = units
	}
	f := judge(t, c, history.Stock, history.Indeterminate)
	assert.Contains(t, f.Because, "1 unit is of unknown outcome")
}

// A load generator that was cut short lost answers: its orders may have taken units before any refusal.
func TestUnitsOfUnrecordedOrdersAreUnknown(t *testing.T) {
	c := forge(5)
	c.Ops = c.Ops[2:]
	probe(c).Quantity = 6
	judge(t, c, history.Stock, history.Broken)
	c.Incomplete = true
	f := judge(t, c, history.Stock, history.Indeterminate)
	assert.Equal(t, "2 more units are gone than the answers account for; was a generator cut short? "+
		"If not, add --orders with the number of orders", f.Because)
	probe(c).Quantity = 5
	f = judge(t, c, history.Stock, history.Broken)
	assert.Contains(t, f.Because, "although at least 5 of 10 were left")
	c = forge(5)
	c.Incomplete = true
	judge(t, c, history.Stock, history.OK)
	*c.Left = 6
	judge(t, c, history.Stock, history.Broken)
}

func TestMoreSalesThanUnitsIsBroken(t *testing.T) {
	c := forge(6)
	c.Initial, *c.Left = 5, 0
	for i := range 6 {
		c.Ops[i].Units = nil
	}
	f := judge(t, c, history.Stock, history.Broken)
	assert.Equal(t, "6 units were sold, of a stock of 5", f.Because)
}

// The reason is the first answer without an outcome, even after orders that were never answered.
func TestUnknownOutcomeHasReason(t *testing.T) {
	c := forge(5)
	for i, detail := range []string{"the client stopped waiting", "201 Created", "200, but no sale"} {
		op := &c.Ops[i]
		lose(op)
		op.Detail, op.Status = detail, 100*i
	}
	f := judge(t, c, history.Stock, history.Indeterminate)
	assert.Equal(t, "3 units are of unknown outcome and the stock is lower by that much, "+
		"but no write without a reply explains them: one may have been lost and another not sold; "+
		"the first answer without an outcome, to order 1: 201 Created", f.Because)
	*c.Left = 6
	f = judge(t, c, history.Stock, history.Indeterminate)
	assert.Equal(t, "3 units are of unknown outcome: they may be others' units sold again; "+
		"the first answer without an outcome, to order 1: 201 Created", f.Because)
	c.Ops[1].Detail = "" // it has no body
	assert.Contains(t, judge(t, c, history.Stock, history.Indeterminate).Because, "to order 1: status 100")
}

// A status of 200 alone is no sale: it may be a proxy's page, or a shop's own format for sold out.
func TestStatus200WithoutReceiptIsNoSale(t *testing.T) {
	for outcome, want := range map[history.Outcome]history.Result{
		history.Unknown: history.Indeterminate, history.Refused: history.OK, history.NotSold: history.OK,
	} {
		c := forge(10)
		extra := forgeSale(11, 0) // once all is sold
		extra.Outcome, extra.Units, extra.Resolved = outcome, nil, outcome != history.Unknown
		c.Ops = append(c.Ops, extra)
		judge(t, c, history.Stock, want)
	}

	c := forge(5)
	probe(c).Quantity = 5 // all that are left
	page := forgeSale(0, 0)
	page.Order, page.Outcome, page.Units, page.Resolved = "p-9", history.NotSold, nil, true
	c.Ops = append(c.Ops, page)
	f := judge(t, c, history.Stock, history.Broken)
	assert.Contains(t, f.Because, "although at least 5 of 10 were left")
}

func TestWrongRefusalIsFound(t *testing.T) {
	c := forge(5)
	probe(c).Quantity = 5 // all that are left
	f := judge(t, c, history.Stock, history.Broken)
	assert.Equal(t, "a refused order probe-1 at +0.059 s, which wanted 5, although at least 5 of 10 were left", f.Because)
	c.Faults = []history.Fault{{Order: probe(c).Order, Text: "refused as sold out"}}
	judge(t, c, history.Stock, history.OK)

	c = forge(5)
	probe(c).Quantity = 5
	lose(&c.Ops[4])
	c.Ops[4].Trace = []history.Command{lostSet}
	probe(c).Quantity = 6
	judge(t, c, history.Stock, history.OK)

	c = forge(5)
	probe(c).Quantity, probe(c).Done = 8, c.Ops[3].Sent-1 // two units fewer were left, and three orders had been sent
	probe(c).Sent, probe(c).Lease, probe(c).Trace = 0, nil, nil
	judge(t, c, history.Stock, history.OK)
	probe(c).Quantity = 7
	judge(t, c, history.Stock, history.Broken)
}

// Leases order refusals and sales, whenever orders were sent and answered.
func TestRefusalIsComparedByLeases(t *testing.T) {
	soldOut := func(edit func(c *history.Cell)) *history.Cell {
		c := forge(10)
		refused := *probe(c)
		refused.Order, refused.Phase, refused.Quantity = "p-early", history.Buy, 1
		refused.Lease = &history.Lease{Token: "early", AcquiredAt: 51 * ms, ReleasedAt: 51*ms + 1}
		refused.Trace = nil
		c.Ops = append(c.Ops, refused)
		for i := range c.Ops {
			c.Ops[i].Sent, c.Ops[i].Done = 0, 200*ms // all at once
		}
		c.Ops[len(c.Ops)-1].Done = 190 * ms
		edit(c)
		return c
	}
	f := judge(t, soldOut(func(*history.Cell) {}), history.Stock, history.Broken)
	assert.Contains(t, f.Because, "refused order early at +0.190 s, which wanted 1, although at least 5 of 10 were left")
	for name, edit := range map[string]func(c *history.Cell){
		"it lost its lease":    func(c *history.Cell) { c.Ops[len(c.Ops)-1].Lease.Lost = true },
		"it shows no lease":    func(c *history.Cell) { c.Ops[len(c.Ops)-1].Lease = nil },
		"they have two clocks": func(c *history.Cell) { c.Instances[1].Clock = "n" },
	} {
		c := soldOut(edit)
		f := history.FindingOf(findings(c), history.Stock)
		assert.Equal(t, history.OK, f.Result, "%s: %s", name, f.Because)
		assert.Less(t, coverage(c).Checked, 2, "%s: nothing shows that it was right", name)
	}
}

// A refusal counts as checked if the sales completed by then leave too few units.
func TestRefusalIsCheckedAgainstCompletedSales(t *testing.T) {
	c := forge(10)
	probe(c).Quantity = 1
	assert.Equal(t, 1, coverage(c).Checked)
	for i := range c.Ops {
		c.Ops[i].Lease = nil
	}
	assert.Equal(t, 1, coverage(c).Checked)
	c.Ops[9].Done = probe(c).Done + 1
	assert.Zero(t, coverage(c).Checked, "the tenth may have been sold after it")
	judge(t, c, history.Stock, history.OK)
}

// A shop that sells nothing while units are left proves nothing.
func TestNothingSoldProvesNothing(t *testing.T) {
	c := forge(5)
	*c.Left = 10
	for i := range c.Ops {
		c.Ops[i].Outcome, c.Ops[i].Units, c.Ops[i].Status, c.Ops[i].Lease = history.Busy, nil, 423, nil
	}
	judge(t, c, history.Stock, history.Indeterminate)
	c.Initial, *c.Left = 0, 0
	judge(t, c, history.Stock, history.OK)
}

func TestUnitsVanishedBesideUnknownOutcome(t *testing.T) {
	c := forge(5)
	lose(&c.Ops[4])
	f := judge(t, c, history.Stock, history.Indeterminate)
	assert.Equal(t, "1 unit is of unknown outcome and the stock is lower by that much, "+
		"but no write without a reply explains it: one may have been lost and another not sold", f.Because)
	c.Ops[4].Trace = []history.Command{lostSet}
	write := &c.Ops[4].Trace[0]
	write.Source, write.Reply = history.Told, "OK"
	judge(t, c, history.Stock, history.Indeterminate)
	for _, write.Cmd = range []string{"set", "eval:write", "eval:take", "decr", "decrby", "incrby"} {
		for _, refusal := range refusals { // it took nothing
			fail(write, refusal)
			judge(t, c, history.Stock, history.Indeterminate)
		}
		for _, loss := range losses {
			fail(write, loss)
			judge(t, c, history.Stock, history.OK)
		}
	}
	c.Ops[4].Trace[0] = lostSet
	c.Ops[4].Trace[0].Key = "lock"
	judge(t, c, history.Stock, history.Indeterminate)
}
