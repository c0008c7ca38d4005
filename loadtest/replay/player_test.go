package replay

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/schedule"
)

func TestStuckNamesWaitingCommands(t *testing.T) {
	trace, err := schedule.ParseTrace("v4:aa")
	require.NoError(t, err)
	c := named(0, "a")
	p := &player{trace: trace, gate: newGate(nil), clients: []*participant{c}}
	p.gate.begin()
	p.gate.come(t, waits(c, 0, "get"))
	assert.EqualError(t, p.stuck(1, assert.AnError),
		"step 2 of the trace, a, cannot be taken: "+assert.AnError.Error()+"; waiting: a (get stock)")
}
