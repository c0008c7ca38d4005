package audit_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"stockapi/loadtest/audit"
	"stockapi/loadtest/history"
)

// forgeForeign makes a cell of a foreign client that sold correctly and whose names and replies mislead: its lock is
// named like a stock and its stock is not, all its commands are EVAL, and the acquire replies nil. Only their observed
// effects show what they do.
func forgeForeign() *history.Cell {
	c := forge(5)
	for i := range c.Ops {
		op := &c.Ops[i]
		t := op.Lease.AcquiredAt
		eval := func(key, reply string, at history.Instant, effect history.Effect) history.Command {
			return history.Command{Node: "n", Cmd: "eval", Key: key, Reply: reply, Source: history.Looked,
				Effect: effect, At: t + at, End: t + at + ms/4}
		}
		op.Trace = []history.Command{
			eval("lock:stock:1", "1000", -ms, history.EffectTried),
			eval("lock:stock:1", "(nil)", -ms/2, history.EffectAcquired),
			eval("lock:stock:1", "1", ms, history.EffectRenewed),
			eval("units", "", 2*ms, history.EffectRead),
			eval("units", "[0 7]", 3*ms, history.EffectWrote),
			eval("lock:stock:1", "", 5*ms, history.EffectReleased),
		}
	}
	return c
}

func TestForeignCommandsAreJudgedByTheirEffects(t *testing.T) {
	c := forgeForeign()
	for _, v := range []history.Verdict{
		history.Valid, history.Stock, history.Exclusion, history.OwnRelease, history.Liveness,
	} {
		judge(t, c, v, history.OK)
	}
	assert.Len(t, c.Ops, coverage(c).Removals)
	locks := history.TimelineOf(c, history.Terms{}).Locks
	assert.Len(t, locks, 1)
	assert.Len(t, locks[0].Tenures, len(c.Ops))
	assert.Equal(t, history.Released, locks[0].Tenures[0].How)
	assert.Equal(t, 5*ms+ms/4, c.Ops[0].LastWrite().End)
}

// Any script that removes a lock that another order has acquired removes a foreign lock. A renewal in between, of
// whatever key was there, does not make it the sender's.
func TestScriptRemovesAnothersLock(t *testing.T) {
	for _, effect := range []history.Effect{history.EffectRenewed, history.EffectTried} {
		c := forgeForeign()
		first := &c.Ops[0]
		hold(c, 0, 15*ms) // the lease of order 1 begins at 12
		first.Trace[2].At, first.Trace[2].End, first.Trace[2].Effect = 13*ms, 14*ms, effect
		first.Trace[5].At, first.Trace[5].End = 15*ms, 16*ms
		first.Done = 18 * ms
		f := judge(t, c, history.OwnRelease, history.Broken)
		assert.Contains(t, f.Because, "removed lock:stock:1", effect.String())
		judge(t, c, history.Exclusion, history.Broken)
		for i := range c.Ops {
			for j := range c.Ops[i].Trace {
				c.Ops[i].Trace[j].Source = history.Unseen
			}
		}
		judge(t, c, history.OwnRelease, history.NotApplicable)
	}
}

// A write that is known to have taken effect explains a unit that no answer names.
func TestUnansweredUnitIsExplainedByTheEffect(t *testing.T) {
	c := forgeForeign()
	trace := c.Ops[2].Trace
	lose(&c.Ops[2])
	assert.Equal(t, history.Indeterminate, audit.Stock(c).Result)
	c.Ops[2].Trace = trace
	judge(t, c, history.Stock, history.OK)
}
