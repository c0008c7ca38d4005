package audit_test

import (
	"cmp"
	"testing"

	"github.com/stretchr/testify/assert"

	"stockapi/loadtest/audit"
	"stockapi/loadtest/history"
)

// A stock whose writes are not observed is judged by numbers: it is broken only if the count is outside the bounds.
func TestCountOfAStockElsewhere(t *testing.T) {
	sold, refused, unknown := history.Sold, history.Busy, history.Unknown
	for name, c := range map[string]struct {
		outcomes   []history.Outcome
		initial    int64 // 0: 10
		left       int64
		sales      int64 // 0: not read
		unbalanced string
		kept       bool // the database may have kept another order waiting
		faults     int
		result     history.Result
		because    string
	}{
		"equal": {outcomes: []history.Outcome{sold, sold, refused}, left: 8, result: history.OK},
		"two sold, one taken": {outcomes: []history.Outcome{sold, sold}, left: 9, result: history.Broken,
			because: "2 sold, but the stock went from 10 to 9, by count"},
		"a unit is lost": {outcomes: []history.Outcome{sold, refused}, left: 8, result: history.Broken,
			because: "1 sold, but the stock went from 10 to 8, by count"},
		"an error may be a sale": {outcomes: []history.Outcome{sold, unknown}, left: 8, result: history.OK},
		"an error may be none":   {outcomes: []history.Outcome{sold, unknown}, left: 9, result: history.OK},
		"beyond both bounds": {outcomes: []history.Outcome{sold, unknown}, left: 10, result: history.Broken,
			because: "1 to 2 sold, but the stock went from 10 to 10, by count"},
		"a sale that is recorded": {outcomes: []history.Outcome{sold, unknown}, left: 9, sales: 2, result: history.Broken,
			because: "2 recorded as sold, but the stock went from 10 to 9, by count"},
		"more is recorded than there was": {outcomes: []history.Outcome{sold, sold}, initial: 1, left: -1, sales: 2,
			result: history.Broken, because: "2 recorded as sold, of a stock of 1, by count"},
		"more is sold than there was": {outcomes: []history.Outcome{sold, sold, unknown}, initial: 1, left: -1,
			result: history.Broken, because: "2 to 3 sold, of a stock of 1, by count"},
		"less than nothing is left": {outcomes: []history.Outcome{sold, unknown}, initial: 1, left: -1,
			result: history.Broken, because: "1 to 2 sold, but the stock went from 1 to -1, by count"},
		"an error may be the last sale": {outcomes: []history.Outcome{sold, unknown}, initial: 1, left: 0,
			result: history.OK},
		"a refused order has a sale": {outcomes: []history.Outcome{sold, refused}, left: 8, sales: 2,
			result: history.Broken, because: "2 recorded as sold, but 1 according to the answers, by count"},
		"a refused order has the only sale": {outcomes: []history.Outcome{refused}, left: 9, sales: 1,
			result: history.Broken, because: "1 recorded as sold, but 0 according to the answers, by count"},
		"an error has a sale": {outcomes: []history.Outcome{sold, unknown, refused}, left: 8, sales: 2,
			result: history.OK},
		"an error cannot have two": {outcomes: []history.Outcome{sold, unknown, refused}, left: 7, sales: 3,
			result: history.Broken, because: "3 recorded as sold, but 1 to 2 according to the answers, by count"},
		"a sold order has no sale": {outcomes: []history.Outcome{sold, sold}, left: 9, sales: 1,
			result: history.Broken, because: "1 recorded as sold, but 2 according to the answers, by count"},
		"no balance without a fault": {outcomes: []history.Outcome{sold, sold}, left: 9, unbalanced: "the stock is refilled",
			result: history.Indeterminate, because: "the stock is refilled"},
		"nothing sold": {outcomes: []history.Outcome{refused}, left: 10, result: history.Indeterminate,
			because: "nothing was sold, so nothing was proven"},
		"nothing sold under a fault": {outcomes: []history.Outcome{refused}, left: 10, faults: 1, result: history.OK},
		"the database kept an order waiting": {outcomes: []history.Outcome{sold}, left: 9, kept: true,
			result: history.Indeterminate, because: history.KeptByDatabase},
		"and two sold all the same": {outcomes: []history.Outcome{sold, sold}, left: 9, kept: true, result: history.Broken,
			because: "2 sold, but the stock went from 10 to 9, by count"},
	} {
		t.Run(name, func(t *testing.T) {
			cell := &history.Cell{Initial: cmp.Or(c.initial, 10), Left: &c.left,
				Count:  &history.Count{Unbalanced: c.unbalanced, Kept: c.kept},
				Faults: make([]history.Fault, c.faults)}
			if c.sales > 0 {
				cell.Count.Sales = &c.sales
			}
			for i, outcome := range c.outcomes {
				cell.Ops = append(cell.Ops, history.Op{Order: string(rune('a' + i)), Outcome: outcome, Quantity: 1, Done: 1})
			}
			found := audit.Stock(cell)
			assert.Equal(t, c.result, found.Result)
			assert.Equal(t, c.because, found.Because)
		})
	}
	assert.Equal(t, history.NotApplicable, audit.Stock(&history.Cell{Count: &history.Count{}}).Result)
}

// A trial observes an order's commands on the lock even without an answer: an unanswered order without a lease held
// none.
func TestUnansweredOrderHeldNoLock(t *testing.T) {
	because := func(elsewhere bool) string {
		c := &history.Cell{Initial: 10, Instances: []history.Instance{{Name: "a", Clock: "one"}},
			Facts: &history.Facts{Elsewhere: elsewhere}}
		c.Ops = []history.Op{
			{Order: "anna", Instance: "a", Outcome: history.Unknown, Quantity: 1, Done: history.Never},
			{Order: "bert", Instance: "a", Outcome: history.Sold, Quantity: 1, Done: 20, Units: []int64{10},
				Lease: &history.Lease{AcquiredAt: 5, ReleasedAt: 15}},
		}
		found, _ := audit.Judge(c, history.TimelineOf(c, history.Terms{}))
		return history.FindingOf(found, history.Exclusion).Because
	}
	assert.NotContains(t, because(true), "never answered")
	assert.Contains(t, because(false), "1 orders were never answered")
}
