package audit_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"stockapi/loadtest/history"
)

// hold extends the lease of order i to until.
func hold(c *history.Cell, i int, until history.Instant) {
	c.Ops[i].Lease.ReleasedAt, c.Ops[i].Done = until, until+2*ms
}

func probe(c *history.Cell) *history.Op { return &c.Ops[len(c.Ops)-1] }

// again makes the first fresh request find the lock busy, and adds one that gets through, answered later.
func again(c *history.Cell, later history.Instant) {
	second := *probe(c)
	probe(c).Outcome = history.Busy
	second.Sent, second.Done, second.Lease, second.Trace = second.Sent+900*ms, second.Sent+later, nil, nil
	c.Ops = append(c.Ops, second)
}

// One change to a correct history, the result that it has for one verdict, and a text that the finding contains.
var changes = []struct {
	name    string
	verdict history.Verdict
	want    history.Result
	text    string
	change  func(c *history.Cell)
}{
	// Order 2 acquired the lock at 22 ms.
	{"two holders", history.Exclusion, history.Broken,
		"order 1 on b and order 2 on a both held the lock for 3.000 ms at +0.022 s",
		func(c *history.Cell) { hold(c, 1, 25*ms) }},
	{"a holder throughout", history.Exclusion, history.Broken, "the first of 4",
		func(c *history.Cell) { hold(c, 0, 48*ms) }},
	{"a short overlap", history.Exclusion, history.Broken, "both held the lock for 0.000007 ms",
		func(c *history.Cell) { hold(c, 1, 22*ms+7) }},
	{"two holders who sold nothing", history.Exclusion, history.Broken, "", func(c *history.Cell) {
		hold(c, 1, 25*ms)
		for i := range c.Ops {
			c.Ops[i].Outcome, c.Ops[i].Units = history.Refused, nil
		}
	}},
	{"leases that touch", history.Exclusion, history.OK, "", func(c *history.Cell) { hold(c, 1, 22*ms) }},
	{"a lost answer", history.Exclusion, history.Indeterminate, "", func(c *history.Cell) { lose(&c.Ops[4]) }},

	{"a lost answer", history.OwnRelease, history.Indeterminate, "", func(c *history.Cell) { lose(&c.Ops[4]) }},

	{"a lock that is never free", history.Liveness, history.Broken,
		"did not get through in 1.1s, a answered: 423 lock-busy",
		func(c *history.Cell) {
			p := probe(c)
			p.Outcome, p.Status, p.Detail, p.Done = history.Busy, 423, "423 lock-busy", p.Sent+1100*ms
		}},
	{"a lock that is freed too late", history.Liveness, history.Broken, "", func(c *history.Cell) { again(c, 1001*ms) }},
	{"a busy probe before", history.Liveness, history.OK, "", func(c *history.Cell) { again(c, 999*ms) }},
	{"a probe without an answer", history.Liveness, history.Broken, "", func(c *history.Cell) { lose(probe(c)) }},
	{"no probe", history.Liveness, history.Indeterminate, "", func(c *history.Cell) { c.Ops = c.Ops[:5] }},

	{"a token that fell back", history.Fence, history.Broken,
		"order 1 got token 4 at +0.012 s, and order 2 only token 3",
		func(c *history.Cell) { c.Ops[3].Lease.Fence, c.Ops[1].Lease.Fence = 2, 4 }},
	{"a token granted twice", history.Fence, history.Broken, "order 2 and order 3 both got token 3",
		func(c *history.Cell) { c.Ops[3].Lease.Fence = 3 }},
	// Order 3 acquired before order 4, but was paused before it read its clock, and read it after order 4.
	{"acquisitions that crossed", history.Fence, history.OK, "", func(c *history.Cell) {
		c.Ops[3].Lease.AcquiredAt, c.Ops[3].Lease.ReleasedAt, c.Ops[3].Done = 47*ms, 48*ms, 49*ms
	}},
	{"orders without commands", history.Fence, history.OK, "", silence},
	{"orders without commands whose tokens fell back", history.Fence, history.Broken, "", func(c *history.Cell) {
		silence(c)
		c.Ops[4].Lease.Fence, c.Ops[0].Lease.Fence = 1, 5
	}},
	{"a lost answer", history.Fence, history.Indeterminate, "", func(c *history.Cell) { lose(&c.Ops[4]) }},
	{"a lease without a token", history.Fence, history.Indeterminate, "",
		func(c *history.Cell) { c.Ops[2].Lease.Fence = 0 }},

	{"no queue", history.InOrder, history.NotApplicable, "", func(*history.Cell) {}},
	{"a queue", history.InOrder, history.OK, "", func(c *history.Cell) { c.InLine = true }},
	// Order 3 arrived before order 1, and was served after order 2.
	{"an order overtaken", history.InOrder, history.Broken,
		"order 1 on b arrived at +0.010 s and acquired the lock at +0.012 s, before order 3 on b, " +
			"which had waited since +0.009 s",
		func(c *history.Cell) { c.InLine, c.Ops[3].Sent = true, c.Ops[1].Sent-ms }},
	{"a lost answer in a queue", history.InOrder, history.Indeterminate, "", func(c *history.Cell) {
		c.InLine = true
		lose(&c.Ops[2])
	}},
}

func silence(c *history.Cell) {
	for i := range c.Ops {
		c.Ops[i].Trace = nil
	}
}

func TestVerdictOfChangedHistory(t *testing.T) {
	for _, one := range changes {
		t.Run(string(one.verdict)+" "+one.name, func(t *testing.T) {
			c := forge(5)
			one.change(c)
			assert.Contains(t, judge(t, c, one.verdict, one.want).Because, one.text)
		})
	}
}
