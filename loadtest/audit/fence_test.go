package audit_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"stockapi/loadtest/history"
)

func TestFenceFindsATokenThatFellBack(t *testing.T) {
	c := forge(5)
	c.Ops[3].Lease.Fence = 2
	c.Ops[1].Lease.Fence = 4
	f := judge(t, c, history.Fence, history.Broken)
	assert.Contains(t, f.Because, "order 1 got token 4 at +0.012 s, and order 2 only token 3")
}

func TestFenceFindsATokenGivenTwice(t *testing.T) {
	c := forge(5)
	c.Ops[3].Lease.Fence = 3
	f := judge(t, c, history.Fence, history.Broken)
	assert.Contains(t, f.Because, "order 2 and order 3 both got token 3")
}

func TestFenceAllowsEitherOrderOfAcquisitionsThatCrossed(t *testing.T) {
	c := forge(2)
	// Order 0 acquired first, was paused before it read its clock, and came to that after order 1.
	c.Ops[0].Lease.AcquiredAt, c.Ops[0].Lease.ReleasedAt, c.Ops[0].Done = 17*ms, 18*ms, 19*ms
	judge(t, c, history.Fence, history.OK)
}

func TestFenceWithoutATraceCountsFromWhenTheOrderWasSent(t *testing.T) {
	c := forge(5)
	for i := range c.Ops {
		c.Ops[i].Trace = nil
	}
	judge(t, c, history.Fence, history.OK)
	c.Ops[4].Lease.Fence = 1
	c.Ops[0].Lease.Fence = 5
	judge(t, c, history.Fence, history.Broken)
}

func TestFenceWithALostAnswerIsUnknown(t *testing.T) {
	c := forge(5)
	lose(&c.Ops[4])
	judge(t, c, history.Fence, history.Indeterminate)
}

func TestFenceWithLeasesThatHaveNoTokenIsUnknown(t *testing.T) {
	c := forge(5)
	c.Ops[2].Lease.Fence = 0
	judge(t, c, history.Fence, history.Indeterminate)
}
