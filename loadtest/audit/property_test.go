package audit_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"stockapi/loadtest/audit"
	"stockapi/loadtest/history"
)

// longest is the longest delay in a simulation.
const longest = history.Instant(1000)

// simulate draws a history of a correct lock in front of the naive shelf: any delays, any number of instances,
// whose clock is off by any amount, any answers lost on the way back. Other orders of the same
// instance are served under the lease of some.
func simulate(t *rapid.T) *history.Cell {
	instances := rapid.IntRange(1, 4).Draw(t, "instances")
	initial := rapid.Int64Range(0, 30).Draw(t, "stock")
	c := &history.Cell{Product: "p", Initial: initial, Limit: 1 << 40}
	offset := history.Instant(rapid.Int64Range(-1e12, 1e12).Draw(t, "offset"))
	for i := range instances {
		c.Instances = append(c.Instances, history.Instance{Name: fmt.Sprint("i", i), Clock: "m"})
	}
	delay := func(what string) history.Instant {
		return history.Instant(rapid.Int64Range(0, int64(longest)).Draw(t, what))
	}
	now, left := history.Instant(1000), initial
	for i := range rapid.IntRange(1, 40).Draw(t, "orders") {
		in := rapid.IntRange(0, instances-1).Draw(t, "instance")
		op := history.Op{Order: fmt.Sprint("p-", i), Phase: history.Buy, Instance: c.Instances[in].Name, Quantity: 1}
		op.Sent = now - delay("before")
		set := now
		now += delay("acquire") + 1
		acquired := now + delay("read clock")
		now = acquired + delay("work")
		released := now
		removed := now + delay("remove") + 1
		now = removed + 1
		op.Done = removed + delay("answer")
		serve := func(op *history.Op) {
			op.Outcome = history.Refused
			if left > 0 {
				op.Outcome, op.Units, op.Left = history.Sold, []int64{left}, left-1
				left--
			}
		}
		serve(&op)
		decided := rapid.SampledFrom([]history.Instant{acquired, released}).Draw(t, "decided")
		for j := range rapid.IntRange(0, 2).Draw(t, "others") {
			other := history.Op{Order: fmt.Sprintf("%s-%d", op.Order, j), Phase: history.Buy, Instance: op.Instance,
				Quantity: 1, SoldBy: op.Order, Sent: decided - delay("before"), Done: decided + delay("answer")}
			serve(&other)
			c.Ops = append(c.Ops, other)
		}
		op.Lease = &history.Lease{Fence: int64(i + 1), AcquiredAt: acquired, ReleasedAt: released}
		op.Trace = []history.Command{
			{Node: "n", Cmd: "setnx", Key: "lock", At: set, End: acquired, Reply: "1"},
			{Node: "n", Cmd: "del", Key: "lock", At: released, End: removed, Reply: "1"},
		}
		shift(&op, offset)
		if rapid.IntRange(0, 19).Draw(t, "lost") == 0 {
			lose(&op)
		}
		c.Ops = append(c.Ops, op)
	}
	c.Left = &left
	c.Ops = append(c.Ops,
		history.Op{Order: "p-probe-1", Phase: history.Probe, Instance: "i0", Outcome: history.Refused, Sent: now,
			Done: now + 5})
	return c
}

func TestACorrectLockIsNeverFoundBroken(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := simulate(t)
		for _, f := range findings(c) {
			if f.Result == history.Broken {
				t.Fatalf("%s: %s", f.Verdict, f.Because)
			}
		}
	})
}

func sold(c *history.Cell) []*history.Op {
	var ops []*history.Op
	for i := range c.Ops {
		if c.Ops[i].Outcome == history.Sold {
			ops = append(ops, &c.Ops[i])
		}
	}
	return ops
}

func TestADuplicateIsAlwaysFound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := simulate(t)
		ops := sold(c)
		if len(ops) < 2 {
			t.Skip("nothing to sell twice")
		}
		from := rapid.IntRange(0, len(ops)-2).Draw(t, "from")
		to := rapid.IntRange(from+1, len(ops)-1).Draw(t, "to")
		ops[to].Units = ops[from].Units
		f := audit.Stock(c)
		assert.Equal(t, history.Broken, f.Result)
		assert.Equal(t, ops[from].Units[0], f.Evidence[0].Unit)
	})
}

func TestASecondHolderIsAlwaysFound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := simulate(t)
		var ops []*history.Op
		for i := range c.Ops {
			if c.Ops[i].Lease != nil {
				ops = append(ops, &c.Ops[i])
			}
		}
		if len(ops) < 2 {
			t.Skip("one holder at most")
		}
		first := rapid.IntRange(0, len(ops)-2).Draw(t, "first")
		next := ops[first+1].Lease
		ops[first].Lease.ReleasedAt = next.AcquiredAt + 1
		ops[first].Done = history.Never // the client's clock must not contradict it
		assert.Equal(t, history.Broken, history.FindingOf(findings(c), history.Exclusion).Result)
	})
}
