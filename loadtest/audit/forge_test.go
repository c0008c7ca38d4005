package audit_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"stockapi/loadtest/audit"
	"stockapi/loadtest/history"
)

const ms = history.Instant(time.Millisecond)

// forge makes a cell with a stock of 10 that sold correctly to n orders, one after the other, over two instances of one
// clock: order i held the lock from 10i+2 to 10i+7 ms, alone.
func forge(n int) *history.Cell {
	left := int64(10 - n)
	c := &history.Cell{
		Product: "p", Initial: 10, Left: &left, Limit: time.Second,
		Instances: []history.Instance{{Name: "a", Clock: "m"}, {Name: "b", Clock: "m"}},
	}
	for i := range n {
		c.Ops = append(c.Ops, forgeSale(i, int64(10-i)))
	}
	refused := forgeSale(n, 0)
	refused.Order, refused.Phase, refused.Instance = "p-probe-1", history.Probe, "a"
	refused.Outcome, refused.Status, refused.Quantity, refused.Units, refused.Left = history.Refused, 409, 11, nil, 0
	c.Ops = append(c.Ops, refused)
	return c
}

func forgeSale(i int, unit int64) history.Op {
	t := history.Instant(10*i) * ms
	return history.Op{
		Order: fmt.Sprintf("p-%d", i), Phase: history.Buy, Instance: []string{"a", "b"}[i%2], Outcome: history.Sold,
		Status: 200, Sent: t, Done: t + 9*ms, Quantity: 1, Units: []int64{unit}, Left: unit - 1,
		Lease: &history.Lease{Token: fmt.Sprint(i), Fence: int64(i + 1), AcquiredAt: t + 2*ms, ReleasedAt: t + 7*ms},
		Trace: []history.Command{
			{Node: "n", Cmd: "set", Key: "lock", At: t + ms, End: t + 2*ms, Reply: "true"},
			{Node: "n", Cmd: "eval:release", Key: "lock", At: t + 7*ms, End: t + 8*ms, Reply: "1"},
		},
	}
}

// shift moves all times of an order that its instance's clock recorded.
func shift(op *history.Op, by history.Instant) {
	op.Lease.AcquiredAt += by
	op.Lease.ReleasedAt += by
	for i := range op.Trace {
		op.Trace[i].At += by
		op.Trace[i].End += by
	}
}

func lose(op *history.Op) {
	*op = history.Op{
		Order: op.Order, Phase: op.Phase, Instance: op.Instance, Outcome: history.Unknown, Quantity: op.Quantity,
		Sent: op.Sent, Done: history.Never,
	}
}

func findings(c *history.Cell) []history.Finding {
	fs, _ := audit.Judge(c, history.TimelineOf(c, history.Terms{}))
	return fs
}

func coverage(c *history.Cell) *history.Coverage {
	_, cover := audit.Judge(c, history.TimelineOf(c, history.Terms{}))
	return cover
}

// judge expects this result of one verdict, and ok of all others.
func judge(t *testing.T, c *history.Cell, v history.Verdict, want history.Result) history.Finding {
	t.Helper()
	f := history.FindingOf(findings(c), v)
	assert.Equal(t, want, f.Result, "%s: %s", v, f.Because)
	if want == history.Broken {
		assert.NotEmpty(t, f.Because)
		assert.NotEmpty(t, f.Evidence)
	}
	return f
}

func TestCorrectHistoryIsOK(t *testing.T) {
	c := forgeCrowd(5, next)
	c.InLine = true
	for _, f := range findings(c) {
		assert.Equal(t, history.OK, f.Result, "%s: %s", f.Verdict, f.Because)
	}
	assert.Empty(t, audit.Story(findings(forge(5))))
}

func TestCellNotRunHasNoVerdicts(t *testing.T) {
	assert.Empty(t, findings(&history.Cell{NotTested: &history.NotTested{Reason: "needs 5 nodes"}}))
}

func TestWithoutLockOnlyStockAndLivenessAreJudged(t *testing.T) {
	c := forge(5)
	for i := range c.Ops {
		c.Ops[i].Lease, c.Ops[i].Trace = nil, nil
	}
	judge(t, c, history.Stock, history.OK)
	judge(t, c, history.Exclusion, history.NotApplicable)
	judge(t, c, history.OwnRelease, history.NotApplicable)
	judge(t, c, history.Liveness, history.OK)
	judge(t, c, history.Fence, history.NotApplicable)
}
