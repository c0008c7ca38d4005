package audit_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"stockapi/loadtest/audit"
	"stockapi/loadtest/history"
)

func TestRecoveryIsCountedFromTheFirstProbe(t *testing.T) {
	c := forge(5)
	second := *probe(c)
	probe(c).Outcome = history.Busy
	second.Sent, second.Done = second.Sent+300*ms, second.Sent+310*ms
	c.Ops = append(c.Ops, second)
	took, through := audit.Recovery(c)
	assert.True(t, through)
	assert.Equal(t, 310*time.Millisecond, took)
	c.Ops[len(c.Ops)-1].Outcome = history.Busy
	took, through = audit.Recovery(c)
	assert.False(t, through)
	assert.Equal(t, 310*time.Millisecond, took)
	first, last := len(c.Ops)-2, len(c.Ops)-1
	c.Ops[first], c.Ops[last] = c.Ops[last], c.Ops[first] // whichever is recorded first
	took, _ = audit.Recovery(c)
	assert.Equal(t, 310*time.Millisecond, took)
	c.Ops[first], c.Ops[last] = c.Ops[last], c.Ops[first]
	lose(probe(c))
	took, through = audit.Recovery(c)
	assert.False(t, through)
	assert.Zero(t, took)
}

// tried is a cell whose only fresh request got this answer, after the limit.
func tried(outcome history.Outcome, status int) *history.Cell {
	c := forge(5)
	op := probe(c)
	op.Outcome, op.Status, op.Detail, op.Lease, op.Trace = outcome, status, "nothing left", nil, nil
	op.Done = op.Sent + history.Instant(c.Limit) + ms
	return c
}

// Only a receipt and a 409 show that an order got through, and only a 423 and a failure that it did not. Any other
// answer may be a shop's own format for sold out.
func TestLivenessUnknownAfterPossibleSoldOut(t *testing.T) {
	for status, outcome := range map[int]history.Outcome{
		404: history.NotSold, 410: history.NotSold, 400: history.NotSold, 200: history.Unknown, 201: history.Unknown,
	} {
		f := judge(t, tried(outcome, status), history.Liveness, history.Indeterminate)
		assert.Equal(t, "a answered a fresh request: nothing left: unlike a 409, "+
			"that does not show whether it got through", f.Because)
	}
	for status, outcome := range map[int]history.Outcome{
		503: history.NotSold, 500: history.Unknown, 423: history.Busy, 409: history.Refused, 0: history.NotSold,
	} {
		judge(t, tried(outcome, status), history.Liveness, history.Broken)
	}
}

// A shop on trial that limits the rate of orders, or remembers that it is sold out, refuses fresh orders for reasons
// other than the lock. An order that found the lock taken was refused for that, whatever its answer. Any other refusal
// counts as before.
func TestLivenessUnknownIfTurnedAway(t *testing.T) {
	const limits, full = "429: it limits the rate of orders",
		"it refused as sold out, although the shelf was full again"
	asks := func(e history.Effect) history.Command {
		sent := probe(forge(5)).Sent
		return history.Command{Cmd: "set", Key: "lock", Source: history.Looked, Effect: e, At: sent + ms, End: sent + 2*ms}
	}
	vain := []history.Command{asks(history.EffectTried)}
	took := []history.Command{asks(history.EffectTried), asks(history.EffectAcquired)}
	for _, one := range []struct {
		status int
		body   string
		trace  []history.Command
		want   string // "": broken
	}{
		{429, "slow down", nil, limits}, {429, "slow down", vain, ""}, {409, "nothing left", nil, full},
		{409, "nothing left", took, full}, {409, "nothing left", vain, ""}, {409, "busy", nil, ""},
		{423, "nothing left", nil, ""},
	} {
		c := tried(history.Busy, one.status)
		c.Facts = &history.Facts{SoldOut: &history.Answer{Status: 409, Body: "nothing left"}}
		probe(c).Detail, probe(c).Trace = one.body, one.trace
		if one.want == "" {
			judge(t, c, history.Liveness, history.Broken)
			continue
		}
		assert.Equal(t, one.want, judge(t, c, history.Liveness, history.Indeterminate).Because)
		c.Facts = nil // no trial
		judge(t, c, history.Liveness, history.Broken)
	}
	late := tried(history.Busy, 429) // and then one gets through, too late
	late.Facts = &history.Facts{}
	second := *probe(late)
	second.Sent, second.Done, second.Outcome, second.Status = second.Done+ms, second.Done+2*ms, history.Refused, 409
	late.Ops = append(late.Ops, second)
	judge(t, late, history.Liveness, history.Indeterminate)
	late.Ops[len(late.Ops)-2].Status = 423
	judge(t, late, history.Liveness, history.Broken)
}

// A request with an inconclusive answer may have got through at once. A late 409 shows that it did not.
func TestLivenessUnknownWithOneOpenProbe(t *testing.T) {
	c := tried(history.NotSold, 404)
	second := *probe(c)
	second.Sent, second.Done, second.Outcome, second.Status = second.Done+ms, second.Done+2*ms, history.NotSold, 503
	c.Ops = append(c.Ops, second)
	judge(t, c, history.Liveness, history.Indeterminate)
	probe(c).Outcome, probe(c).Status = history.Refused, 409
	judge(t, c, history.Liveness, history.Broken)
	probe(c).Status, probe(c).Resolved = 200, true // looked up at the end
	judge(t, c, history.Liveness, history.Indeterminate)
}
