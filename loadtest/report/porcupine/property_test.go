package porcupine_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"stockapi/loadtest/history"
	"stockapi/loadtest/report/porcupine"
)

// simulate draws a history of a shop that works: orders of one unit or two, each of which takes place at a moment of
// its own, on three instances that have one clock or clocks that differ by any amount. Answers may be lost.
func simulate(t *rapid.T) *history.Cell {
	c := &history.Cell{Product: "p", Initial: rapid.Int64Range(0, 30).Draw(t, "stock")}
	offsets := []history.Instant{0, 0, 0}
	shared := rapid.Bool().Draw(t, "one clock")
	for i := range offsets {
		clock := "one"
		if !shared {
			offsets[i], clock = history.Instant(rapid.Int64Range(-1e12, 1e12).Draw(t, "offset")), fmt.Sprint(i)
		}
		c.Instances = append(c.Instances, history.Instance{Name: fmt.Sprint("i", i), Clock: clock})
	}
	locked := rapid.Bool().Draw(t, "locked")
	delay := func(what string) history.Instant { return history.Instant(rapid.Int64Range(0, 1000).Draw(t, what)) }
	now, left := history.Instant(10_000), c.Initial
	for i := range rapid.IntRange(1, 30).Draw(t, "orders") {
		in := rapid.IntRange(0, len(offsets)-1).Draw(t, "instance")
		op := history.Op{
			Order: fmt.Sprint("p-", i), Instance: c.Instances[in].Name, Quantity: rapid.Int64Range(1, 2).Draw(t, "quantity"),
			Outcome: history.Refused,
		}
		acquired := now
		released := now + delay("work") + 2
		now = released + 1
		if !locked { // others may be at work meanwhile, as long as each takes place in one moment
			acquired, released = acquired-delay("earlier"), released+delay("later")
		}
		if left >= op.Quantity {
			op.Outcome, left = history.Sold, left-op.Quantity
			for u := range op.Quantity {
				op.Units = append(op.Units, left+1+u)
			}
		}
		op.Sent, op.Done = acquired-delay("before"), released+delay("after")
		by := offsets[in]
		if locked {
			op.Lease = &history.Lease{AcquiredAt: acquired + by, ReleasedAt: released + by}
		}
		op.Trace = []history.Command{{At: acquired + by, End: released + by}}
		if n := rapid.IntRange(0, 9).Draw(t, "lost"); n == 0 {
			op.Outcome, op.Units, op.Lease, op.Trace, op.Done = history.Unknown, nil, nil, nil, history.Never
		}
		c.Ops = append(c.Ops, op)
	}
	c.Left = &left
	return c
}

// claim records that a verdict of the cell is broken by these orders.
func claim(c *history.Cell, v history.Verdict, orders ...string) {
	c.Findings = []history.Finding{{Verdict: v, Result: history.Broken, Evidence: []history.Evidence{{Orders: orders}}}}
}

// A shop that works has no picture, whatever is claimed of it and wherever the window is cut.
func TestAShopThatWorksIsNeverShownAsBroken(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := simulate(t)
		var sold, held []string
		for _, op := range c.Ops {
			if op.Outcome == history.Sold {
				sold = append(sold, op.Order)
			}
			if op.Lease != nil {
				held = append(held, op.Order)
			}
		}
		claim(c, history.Stock)
		assert.NotEmpty(t, porcupine.First(c).NoPicture, "the books")
		if len(sold) > 0 {
			claim(c, history.Stock, rapid.SampledFrom(sold).Draw(t, "odd"))
			assert.NotEmpty(t, porcupine.First(c).NoPicture, "a sale")
		}
		if len(held) > 1 {
			claim(c, history.Exclusion, rapid.SampledFrom(held).Draw(t, "holder"), rapid.SampledFrom(held).Draw(t, "intruder"))
			assert.NotEmpty(t, porcupine.First(c).NoPicture, "two holders")
		}
	})
}

// A unit that was sold twice is shown, whatever else is in the history.
func TestAUnitSoldTwiceIsAlwaysShown(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := simulate(t)
		var sold []*history.Op
		for i := range c.Ops {
			if c.Ops[i].Outcome == history.Sold {
				sold = append(sold, &c.Ops[i])
			}
		}
		if len(sold) < 2 {
			t.Skip("nothing to sell twice")
		}
		from := rapid.IntRange(0, len(sold)-2).Draw(t, "from")
		to := rapid.IntRange(from+1, len(sold)-1).Draw(t, "to")
		sold[to].Units = sold[from].Units
		picture(t, c)
	})
}
