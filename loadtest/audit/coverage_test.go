package audit_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"stockapi/loadtest/history"
)

func TestCoverageCountsTheEvidence(t *testing.T) {
	c := forge(5)
	c.Ops[4].Resolved = true
	assert.Equal(t, &history.Coverage{Sales: 5, Refusals: 1, Checked: 1, Leases: 6, Expected: 6, Removals: 6, Judged: 6,
		Rarer: 0.6, Resolved: 1},
		coverage(c))
	c.Ops[3].Lease.ReleasedAt = history.Never
	lose(&c.Ops[4])
	cover := coverage(c)
	assert.Equal(t, 4, cover.Leases)
	assert.Equal(t, 5, cover.Expected)
	assert.Equal(t, 1, cover.Unknown)
	for i := range 3 {
		c.Ops[i].Outcome, c.Ops[i].Units = history.Busy, nil
	}
	cover = coverage(c)
	assert.Equal(t, 3, cover.Busy)
	assert.Equal(t, 5, cover.Orders)
	c.Faults = []history.Fault{{Text: "stopped"}}
	assert.Zero(t, coverage(c).Busy, "under a fault that may be right")
	c.Faults, *c.Left = nil, 0
	assert.Zero(t, coverage(c).Busy, "all was sold: nothing was left to wait for")
	assert.Nil(t, coverage(&history.Cell{NotTested: &history.NotTested{Reason: "needs 5 nodes"}}))
}
