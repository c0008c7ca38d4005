package audit_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"stockapi/loadtest/history"
)

func TestCoverageSaysWhatAnOKRestsOn(t *testing.T) {
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
	assert.Nil(t, coverage(&history.Cell{NotRun: "needs 5 nodes"}))
}

// long forges a cell of n orders over two instances of one clock, each with a lease and three commands.
func long(n int) *history.Cell {
	left := int64(0)
	c := &history.Cell{Product: "p", Initial: int64(n), Left: &left, Limit: time.Second}
	c.Instances = forge(1).Instances
	for i := range n {
		op := forgeSale(i, int64(n-i))
		op.Order = "p"
		op.Trace = append(op.Trace, history.Command{
			Node: "n", Cmd: "set", Key: "ProductStock_p", At: op.Sent + 4*ms, End: op.Sent + 5*ms, Reply: "OK",
		})
		c.Ops = append(c.Ops, op)
	}
	return c
}

// A million orders are judged with little beside them: what is kept of one is a few numbers. All looks together take
// less than 500 bytes of each, and of those no more than a third at once.
func TestAMillionOrdersTakeLittleMemory(t *testing.T) {
	const n = 100_000
	c := long(n)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	fs := findings(c)
	runtime.ReadMemStats(&after)
	assert.Equal(t, history.OK, history.FindingOf(fs, history.Exclusion).Result)
	assert.Equal(t, history.OK, history.FindingOf(fs, history.OwnRelease).Result)
	assert.Less(t, (after.TotalAlloc-before.TotalAlloc)/n, uint64(500))
}
