package replay

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/explore"
)

// The explorer writes traces and the load test reads them, and the two share no code. So each must read the same.
func TestATraceIsReadAsTheExplorerReadsIt(t *testing.T) {
	for _, text := range []string{
		"v3:aaaa.expiry.b.a", "v6:a2ab3.time.hold-a.crash-b.crash-after-a2", "v4:", "v7:lose-request-a.lose-reply-b.drop-a",
		"v6:node-down-1.node-back-1.node-empty-2.clock-jump-3.give-up-a", "v5.5:abc",
	} {
		ours, err := ParseTrace(text)
		require.NoError(t, err, text)
		theirs, err := explore.ParseTrace(text)
		require.NoError(t, err, text)
		assert.Equal(t, theirs.String(), ours.String())
		require.Len(t, ours.Steps, len(theirs.Steps))
		for i, s := range theirs.Steps {
			assert.Equal(t, Step{Kind(s.Kind), s.Who, s.Nth}, ours.Steps[i], text)
		}
	}
	for _, text := range []string{"", "v4", ":a", "v4:ax", "v4:a.no-such-fault-a", "v4:node-down-", "v4:node-down-0",
		"v4:crash-ab", "v4:times", "v4:a..b", "v4:drop-"} {
		_, err := ParseTrace(text)
		assert.ErrorIs(t, err, ErrTrace, text)
		_, err = explore.ParseTrace(text)
		assert.ErrorIs(t, err, explore.ErrTrace, text)
	}
}

func TestTheTimesAreThoseOfTheExplorer(t *testing.T) {
	assert.Equal(t, explore.LongestWait, usual.wait)
	assert.Equal(t, 4*time.Second, usual.longer(2).lease)
	assert.Equal(t, usual, usual.longer(1))
	assert.Equal(t, explore.DefaultBounds().Clients, Trace{}.clients())
}

func TestATraceThatCannotBeReplayedSaysWhy(t *testing.T) {
	for text, why := range map[string]string{
		"v4:aa.clock-jump-1.bbba": "v4:aa.clock-jump-1.bbba is virtual only: the clock of one real server",
		"v13:a":                   "v13 cannot be replayed: its locks are not in Redis",
		"v12:a":                   "v12 cannot be replayed: its locks are not in Redis",
		"v99:a":                   "there is no rung v99",
	} {
		trace, err := ParseTrace(text)
		require.NoError(t, err)
		assert.ErrorContains(t, Check(trace), why)
	}
	trace, err := ParseTrace("v3:aaaa.expiry.bc")
	require.NoError(t, err)
	assert.NoError(t, Check(trace))
	assert.Equal(t, 3, trace.clients())
}
