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
