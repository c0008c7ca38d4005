package explore

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/history"
	"stockapi/loadtest/schedule"
)

// A sentence names clients and steps, and what had happened to each client before.
func TestSentences(t *testing.T) {
	for _, c := range []struct {
		trace   string
		verdict history.Verdict
		says    string
	}{
		{"v0:abba", history.Stock, "Bert sold unit 1 at step 3; Anna sold unit 1 again at step 4"},
		{"v4:aa.expiry.bbba", history.Stock,
			"Bert sold unit 1 at step 6; Anna, whose lease of 2 s expired at step 3 (+2.001 s), " +
				"sold unit 1 again at step 7"},
		{"v4:a.expiry.bba", history.Exclusion,
			"Anna, whose lease of 2 s expired at step 2 (+2.001 s), and Bert both held the lock " +
				"from step 3 to step 5"},
		{"v3:aaaa.expiry.ba", history.OwnRelease,
			"Anna, whose lease of 2 s expired at step 5 (+2.001 s), removed the lock at step 7 " +
				"although Bert had taken it at step 6"},
		{"v4:aa.hold-a.bbba", history.Stock,
			"Bert sold unit 1 at step 6; Anna, held for 2.001 s under a lease of 2 s at step 3, " +
				"sold unit 1 again at step 7"},
		{"v1:aaa.node-empty-1.ba", history.OwnRelease,
			"the lock server restarted empty at step 4: Anna removed the lock at step 6 " +
				"although Bert had taken it at step 5"},
		{"v4:a.clock-jump-1.bba", history.Exclusion,
			"the clock of the lock server jumped by 2 s at step 2: Anna and Bert both held the " +
				"lock from step 3 to step 5"},
		{"v1:crash-after-a.b", history.Liveness,
			"Anna, killed after setnx/lock at step 1: a fresh order did not get through in 4 s: " +
				"lock is held by another"},
		{"v1:lose-reply-a.b.time", history.Liveness,
			"Anna, whose reply to setnx/lock was lost at step 1: a fresh order did not get " +
				"through in 4 s: lock is held by another"},
		{"v1:aaa.lose-request-a.b.time", history.Liveness,
			"Anna, whose del/lock was lost on its way at step 4: a fresh order did not " +
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

// A story becomes a cell: each command's effect, leases that a step ended, and each order's answer.
func TestACellOfAStory(t *testing.T) {
	trace, err := schedule.ParseTrace("v4:aa.expiry.bbba")
	require.NoError(t, err)
	story, err := Replay(t, trace, DefaultBounds())
	require.NoError(t, err)
	cell := story.Cell()
	first, third := story.at(0), story.at(2)
	key := cell.Ops[0].Trace[0].Key
	assert.Equal(t, history.Command{Node: "lock", Cmd: "set", Key: key, Reply: "true", At: first, End: first},
		cell.Ops[0].Trace[0])
	assert.Equal(t, "1", cell.Ops[0].Trace[1].Reply)
	ended := history.Command{Node: "lock", Cmd: history.EndedLock, Key: key, At: third, End: third}
	assert.Equal(t, "10000-anna", cell.Ops[0].Order)
	for i, op := range cell.Ops {
		assert.Equal(t, i == 0, slices.Contains(op.Trace, ended), "only a's lease has ended")
		assert.Equal(t, "sold unit 1", story.Told[i])
		assert.Equal(t, []int64{1}, op.Units)
		assert.True(t, op.Done.Known())
	}
	assert.False(t, story.Until(7).Cell().Ops[0].Done.Known(), "a is answered only after its release")
	assert.True(t, story.Orders[0].Done.Known())
}

// The timeline of a recorded schedule has the tenures that the judge saw in the servers' data.
func TestTimelineHasTheTenuresOfTheJudge(t *testing.T) {
	t.Parallel()
	file, err := os.ReadFile("../../../loadtest/replay/counterexamples.txt")
	require.NoError(t, err)
	compared := 0
	for line := range strings.Lines(string(file)) {
		fields := strings.Fields(line)
		if fields[0] == "#" || strings.HasPrefix(fields[2], "v6") || strings.HasPrefix(fields[2], "v9-nodes") {
			continue // a comment, or several lock servers, where a majority makes a tenure
		}
		trace, err := schedule.ParseTrace(fields[2])
		require.NoError(t, err)
		story, err := Replay(t, trace, DefaultBounds())
		require.NoError(t, err)
		cell := story.Cell()
		var seen, told []string
		for _, one := range story.leases {
			if step := story.Lines[one.from-1].Step; one.token != "" && step.Kind != schedule.Arrive { // without a reply
				seen = append(seen, fmt.Sprintf("%s from %s", one.client, story.at(one.from-1)))
			}
		}
		for _, l := range history.TimelineOf(cell, history.Terms{}).Locks {
			for _, tenure := range l.Tenures {
				told = append(told, fmt.Sprintf("%s from %s", cell.Ops[tenure.Order].Instance, tenure.From))
			}
		}
		slices.Sort(seen)
		slices.Sort(told)
		assert.Equal(t, seen, told, fields[2])
		compared++
	}
	assert.Greater(t, compared, 100)
}
