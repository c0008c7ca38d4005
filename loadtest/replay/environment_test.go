package replay

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/schedule"
)

func TestLongerTimes(t *testing.T) {
	assert.Equal(t, 4*time.Second, usual.longer(2).lease)
	assert.Equal(t, usual, usual.longer(1))
}

func TestCheckNamesTheReason(t *testing.T) {
	for text, why := range map[string]string{
		"v4:aa.clock-jump-1.bbba": "v4:aa.clock-jump-1.bbba is virtual only: the clock of one real server",
		"v13:a":                   "v13 cannot be replayed: its locks are not in Redis",
		"v12:a":                   "v12 cannot be replayed: its locks are not in Redis",
		"v99:a":                   "there is no rung v99",
	} {
		trace, err := schedule.ParseTrace(text)
		require.NoError(t, err)
		assert.ErrorContains(t, Check(trace), why)
	}
	trace, err := schedule.ParseTrace("v3:aaaa.expiry.bc")
	require.NoError(t, err)
	assert.NoError(t, Check(trace))
	assert.Equal(t, 3, trace.Clients())
}
