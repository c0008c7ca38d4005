package explore

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/history"
	"stockapi/loadtest/schedule"
)

// A sentence says who did what at which step, and what had happened to each of them before.
func TestSentences(t *testing.T) {
	for _, c := range []struct {
		trace   string
		verdict history.Verdict
		says    string
	}{
		{"v0:abba", history.Stock, "b sold unit 1 at step 3; a sold unit 1 again at step 4"},
		{"v4:aa.expiry.bbba", history.Stock,
			"b sold unit 1 at step 6; a, whose lease of 2 s was over at step 3 (+2.001 s), " +
				"sold unit 1 again at step 7"},
		{"v4:a.expiry.bba", history.Exclusion,
			"a, whose lease of 2 s was over at step 2 (+2.001 s), and b both held the lock " +
				"from step 3 to step 5"},
		{"v3:aaaa.expiry.ba", history.OwnRelease,
			"a, whose lease of 2 s was over at step 5 (+2.001 s), removed the lock at step 7 " +
				"although b had taken it at step 6"},
		{"v4:aa.hold-a.bbba", history.Stock,
			"b sold unit 1 at step 6; a, held for 2.001 s under a lease of 2 s at step 3, " +
				"sold unit 1 again at step 7"},
		{"v1:aaa.node-empty-1.ba", history.OwnRelease,
			"the lock server restarted empty at step 4: a removed the lock at step 6 " +
				"although b had taken it at step 5"},
		{"v4:a.clock-jump-1.bba", history.Exclusion,
			"the clock of the lock server jumped by 2 s at step 2: a and b both held the " +
				"lock from step 3 to step 5"},
		{"v1:crash-after-a.b", history.Liveness,
			"a, killed after setnx/lock at step 1: a fresh order did not get through in 4 s: " +
				"lock is held by another"},
		{"v1:lose-reply-a.b.time", history.Liveness,
			"a, whose reply to setnx/lock was lost at step 1: a fresh order did not get " +
				"through in 4 s: lock is held by another"},
		{"v1:aaa.lose-request-a.b.time", history.Liveness,
			"a, whose del/lock was lost on its way at step 4: a fresh order did not " +
				"get through in 4 s: lock is held by another"},
		{"v1:aaa.node-down-1.ab", history.Liveness,
			"the lock server could not be reached from step 4 on: a fresh order did not " +
				"get through in 4 s: lock is held by another"},
	} {
		trace, err := schedule.ParseTrace(c.trace)
		require.NoError(t, err)
		story, err := Replay(t, trace, DefaultBounds())
		require.NoError(t, err, c.trace)
		require.True(t, story.Breaks(c.verdict), c.trace)
		for _, v := range story.Broken {
			if v.Verdict == c.verdict {
				assert.Equal(t, c.says, story.Until(len(trace.Steps)).Sentence(v), c.trace)
			}
		}
	}
}

// A story tells what each command did, whose lease a step ended, and what each order was told.
func TestAStory(t *testing.T) {
	trace, err := schedule.ParseTrace("v4:aa.expiry.bbba")
	require.NoError(t, err)
	story, err := Replay(t, trace, DefaultBounds())
	require.NoError(t, err)
	first := *story.Lines[0].Call
	assert.Equal(t, Call{Server: "lock", Name: "set", Key: first.Key, Reply: "true"}, first)
	assert.Equal(t, "1", story.Lines[1].Call.Reply)
	assert.True(t, story.Lines[2].Fault)
	assert.Equal(t, []int{0}, story.Lines[2].Ended)
	assert.Equal(t, []Lease{{0, 1, 7}, {1, 4, 6}}, story.Leases)
	require.Equal(t, history.Exclusion, story.Broken[1].Verdict)
	assert.Equal(t, []int{4, 7}, []int{story.Broken[1].From, story.Broken[1].Last})
	for _, order := range story.Orders {
		assert.Equal(t, "sold unit 1", order.End)
		assert.Equal(t, []int64{1}, order.Units)
		assert.Positive(t, order.Done)
	}
	assert.Equal(t, -1, story.Until(7).Orders[0].Done, "a was answered after its release")
	assert.Positive(t, story.Orders[0].Done)
}
