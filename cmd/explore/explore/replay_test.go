package explore

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/backend/backendtest"
	"stockapi/loadtest/cluster"
	"stockapi/loadtest/history"
	"stockapi/loadtest/replay"
	"stockapi/loadtest/schedule"
)

func TestReplayTimes(t *testing.T) {
	assert.Equal(t, LongestWait, replay.Wait)
	assert.Equal(t, Stocked, replay.Stock)
	assert.Equal(t, DefaultBounds().Clients, schedule.Trace{}.Clients())
}

// CI replays the list of counterexamples. It is what the explorer finds, on the rungs that it explores quickly. If this
// fails, rewrite the list with scripts/counterexamples.
func TestCounterexampleListIsCurrent(t *testing.T) {
	backendtest.Long(t)
	list, err := replay.ReadList("../../../loadtest/replay/counterexamples.txt")
	require.NoError(t, err)
	listed := map[string][]history.Verdict{}
	for _, e := range list {
		listed[e.Trace.String()] = e.Breaks
	}
	for _, rung := range []string{"v0", "v1", "v3", "v5-as-printed", "v15"} {
		for _, kind := range FaultKinds {
			for _, found := range mustExplore(t, rung, DefaultBounds().With(1, kind)).Found {
				assert.Contains(t, listed[found.Trace.String()], found.Verdict, "%s under %s: %s",
					rung, kind.Name, found.Trace)
			}
		}
	}
}

// On real processes each step carries out the command that the explorer names, and each order ends likewise: with an
// expired lease, a message that wakes a waiter or is lost, Redlock nodes that are asked at once, a caller that leaves,
// a crash, and a late command.
func TestReplayTakesTheExplorersSteps(t *testing.T) {
	backendtest.Long(t)
	backendtest.Require(t)
	t.Parallel()
	stockapi := filepath.Join(t.TempDir(), "stockapi")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", stockapi, "stockapi/cmd/stockapi").CombinedOutput()
	require.NoError(t, err, string(out))
	environment, ctx, err := replay.Open(t.Context(),
		cluster.Options{Backend: backendtest.RedisServer, Stockapi: stockapi, Say: func(string) {}})
	require.NoError(t, err)
	defer func() { assert.NoError(t, environment.Close()) }()
	type ends map[string]history.Outcome // by client
	for text, want := range map[string]ends{
		"v3:aaaa.expiry.babb":         {"a": history.Sold, "b": history.Refused},
		"v7:abbbbaaabbbb":             {"a": history.Sold, "b": history.Refused},
		"v6:b3b2a3aabbbb3b2ba3a2a":    {"a": history.Busy, "b": history.Sold},
		"v1.5:a.give-up-a.b":          {"a": history.NotSold, "b": history.Busy},
		"v16:aaa.crash-a.bbbb":        {"a": history.NotSold, "b": history.Sold},
		"v8:abbbbaaa.drop-b.time.bbb": {"a": history.Sold, "b": history.Refused},

		"v2:aaa.late-a.time.time.b.arrive-a": {"a": history.Sold, "b": history.Refused},
	} {
		trace, err := schedule.ParseTrace(text)
		require.NoError(t, err)
		story, err := Replay(t, trace, DefaultBounds())
		require.NoError(t, err, text)
		var steps []string
		cell, err := environment.Prove(ctx, trace, nil, func(float64, error) { steps = nil },
			func(l replay.Line) { steps = append(steps, l.What) })
		require.NoError(t, err, text)
		for i, step := range steps {
			assert.Contains(t, step, strings.ReplaceAll(story.Lines[i].What, " 1", ""), "%s, step %d", text, i+1)
		}
		assert.Len(t, steps, len(trace.Steps), text)
		got := ends{}
		for _, op := range cell.Ops {
			if op.Phase == history.Buy {
				got[op.Instance] = op.Outcome
			}
		}
		assert.Equal(t, want, got, text)
	}
}
