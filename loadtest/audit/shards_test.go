package audit_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/history"
)

// forgeShards makes a cell of a product of two shards, which were sold from correctly at the same times: orders 0 and
// 1, 2 and 3, and so on, each pair at once from the two shards, under the same tokens.
func forgeShards(n int) *history.Cell {
	c := forge(n)
	c.Shards = 2
	for i := range n {
		op := &c.Ops[i]
		op.Shard = []string{"p.x.00", "p.x.01"}[i%2]
		for j := range op.Trace {
			op.Trace[j].Key = "lock_" + op.Shard
		}
		op.Lease.Fence = int64(i/2 + 1)
		if i%2 == 1 {
			op.Sent, op.Done = op.Sent-10*ms, op.Done-10*ms
			shift(op, -10*ms)
		}
	}
	probe := &c.Ops[n]
	probe.Shard = "p.x.00"
	for j := range probe.Trace {
		probe.Trace[j].Key = "lock_" + probe.Shard
	}
	return c
}

func TestLeasesOfTwoShardsMayOverlap(t *testing.T) {
	for _, f := range findings(forgeShards(6)) {
		if f.Verdict != history.Order && f.Verdict != history.Herd {
			assert.Equal(t, history.OK, f.Result, "%s: %s", f.Verdict, f.Because)
		}
	}
}

func TestLeasesOfOneShardMayNotOverlap(t *testing.T) {
	for _, shard := range []string{"p.x.00", history.AllShards} {
		c := forgeShards(6)
		c.Ops[1].Shard = shard
		broken := judge(t, c, history.Exclusion, history.Broken)
		require.NotEmpty(t, broken.Evidence)
		assert.Equal(t, []string{"p-0", "p-1"}, broken.Evidence[0].Orders)
	}
}

func TestLeasesOfAllShardsAreComparedOnce(t *testing.T) {
	c := forgeShards(6)
	c.Ops[0].Shard, c.Ops[1].Shard = history.AllShards, history.AllShards
	assert.NotContains(t, judge(t, c, history.Exclusion, history.Broken).Because, "the first of")
}

// An order that does not know of the shards yet takes the product's own lock, which excludes others who do not.
func TestTheProductsOwnLockIsNoneOfAShard(t *testing.T) {
	c := forgeShards(6)
	c.Ops[0].Shard = ""
	judge(t, c, history.Exclusion, history.OK)
	c.Ops[1].Shard = ""
	judge(t, c, history.Exclusion, history.Broken)
}

func TestEachShardHasTokensOfItsOwn(t *testing.T) {
	c := forgeShards(6)
	c.Ops[2].Lease.Fence = c.Ops[0].Lease.Fence // of the same shard
	judge(t, c, history.Fence, history.Broken)
	c = forgeShards(6)
	c.Ops[4].Lease.Fence = 1 // 3 after 2 became 1 after 2, and after another 1
	c.Ops[0].Lease.Fence = 0
	judge(t, c, history.Fence, history.Broken)
	c = forgeShards(2)
	c.Ops[2].Lease.Fence = 3 // the last token of the first shard, and
	c.Ops[1].Lease.Fence = 3 // the first one of the second
	judge(t, c, history.Fence, history.OK)
}

func TestAUnitThatTwoShardsHaveSold(t *testing.T) {
	c := forgeShards(6)
	c.Ops[3].Units = c.Ops[2].Units
	judge(t, c, history.Stock, history.Broken)
}

func TestARefusalWithUnitsLeftInAnotherShard(t *testing.T) {
	c := forgeShards(6)
	c.Ops[6].Quantity = 1
	f := judge(t, c, history.Stock, history.Broken)
	assert.Contains(t, f.Because, "although at least 4 of 10 were left")
}

func TestAnOrderIsNotSoldByOneOfAnotherShard(t *testing.T) {
	c := forgeShards(6)
	c.Ops[1].Instance, c.Ops[1].Lease, c.Ops[1].SoldBy = "a", nil, "p-0"
	f := judge(t, c, history.Exclusion, history.Indeterminate)
	assert.Contains(t, f.Because, "which was sold from another shard")
	c.Ops[1].Shard = c.Ops[0].Shard
	judge(t, c, history.Exclusion, history.OK)
}
