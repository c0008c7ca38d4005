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
