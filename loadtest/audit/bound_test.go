package audit_test

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"stockapi/loadtest/history"
)

// An answer with more units than are kept still has too many.
func TestStockFindsMoreUnitsThanWereOrdered(t *testing.T) {
	c := forge(6)
	c.Ops[4].Units, c.Ops[4].Outcome = []int64{6, 5}, history.Unknown
	c.Ops = slices.Delete(c.Ops, 5, 6)
	f := judge(t, c, history.Stock, history.Broken)
	assert.Contains(t, f.Because, "a sold more units to order 4 than the 1 that it ordered")
}

// An order with more commands than are kept may have removed another's lock, or acquired its token at another time.
func TestCutTraceProvesNothing(t *testing.T) {
	c := forge(5)
	op := &c.Ops[2]
	op.Trace = slices.Repeat(op.Trace[:1], 5000)
	op.Bound()
	for _, v := range []history.Verdict{history.OwnRelease, history.Fence} {
		f := judge(t, c, v, history.Indeterminate)
		assert.Contains(t, f.Because, "1 orders sent more commands than are kept")
	}
	for i := range c.Ops {
		c.Ops[i].Trace = c.Ops[2].Trace
	}
	judge(t, c, history.OwnRelease, history.Indeterminate)
}

func TestAbsurdStockIsJudged(t *testing.T) {
	c := forge(5)
	c.Initial = math.MaxInt64
	judge(t, c, history.Stock, history.Broken)
}
