package audit_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"stockapi/loadtest/audit"
	"stockapi/loadtest/history"
)

func probe(c *history.Cell) *history.Op { return &c.Ops[len(c.Ops)-1] }

func TestLivenessFindsALockThatNobodyGets(t *testing.T) {
	c := forge(5)
	p := probe(c)
	p.Outcome, p.Status, p.Detail, p.Done = history.Busy, 423, "423 lock-busy", p.Sent+1100*ms
	f := judge(t, c, history.Liveness, history.Broken)
	assert.Contains(t, f.Because, "did not get through in 1.1s, a answered: 423 lock-busy")
}

func TestLivenessFindsALockThatIsFreeTooLate(t *testing.T) {
	c := forge(5)
	late := *probe(c)
	probe(c).Outcome = history.Busy
	late.Sent, late.Done, late.Lease, late.Trace = late.Sent+900*ms, late.Sent+1001*ms, nil, nil
	c.Ops = append(c.Ops, late)
	judge(t, c, history.Liveness, history.Broken)
}

func TestLivenessAllowsABusyProbeBefore(t *testing.T) {
	c := forge(5)
	second := *probe(c)
	probe(c).Outcome = history.Busy
	second.Sent, second.Done, second.Lease, second.Trace = second.Sent+900*ms, second.Sent+999*ms, nil, nil
	c.Ops = append(c.Ops, second)
	judge(t, c, history.Liveness, history.OK)
}

func TestLivenessFindsAProbeWithoutAnAnswer(t *testing.T) {
	c := forge(5)
	lose(probe(c))
	judge(t, c, history.Liveness, history.Broken)
}

func TestLivenessWithoutAProbeIsUnknown(t *testing.T) {
	c := forge(5)
	c.Ops = c.Ops[:5]
	judge(t, c, history.Liveness, history.Indeterminate)
}

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
	lose(probe(c))
	took, through = audit.Recovery(c)
	assert.False(t, through)
	assert.Zero(t, took)
}

// The next request is the first one that was sent after the fault and not faulted by it; where there is none, the
// probes.
func TestNext(t *testing.T) {
	c := forge(5)
	took, through := audit.Next(c)
	assert.True(t, through)
	assert.Equal(t, 9*time.Millisecond, took, "the probe")

	c.Faults = []history.Fault{{Order: c.Ops[2].Order, At: c.Ops[1].Sent}}
	c.Ops[1].Sent -= ms // before it
	c.Ops[3].Done += 100 * ms
	took, through = audit.Next(c)
	assert.True(t, through)
	assert.Equal(t, 109*time.Millisecond, took)
	c.Ops[3].Outcome = history.Busy
	_, through = audit.Next(c)
	assert.False(t, through, "it gave up, whatever became of those after it")

	lose(&c.Ops[3])
	took, _ = audit.Next(c)
	assert.Equal(t, 9*time.Millisecond, took, "the one after it, as nobody knows what became of it")
}
