package explore

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/audit"
	"stockapi/loadtest/history"
	"stockapi/loadtest/schedule"
)

// isOpen reports whether the schedule ends before the order has released its lock.
func isOpen(op history.Op) bool { return op.Lease != nil && !op.Lease.ReleasedAt.Known() }

// The audit judges every counterexample by its history alone, and agrees with the judge, which reads the servers' data.
// It reports unknown for a command that arrives late, whose client never hears of it. Exclusion is defined differently:
// an order that has written and not yet released breaks nothing here, so only an ok contradicts.
func TestAuditAgreesWithJudge(t *testing.T) {
	t.Parallel()
	file, err := os.ReadFile("../../../loadtest/replay/counterexamples.txt")
	require.NoError(t, err)
	broken := map[history.Verdict]int{}
	for line := range strings.Lines(string(file)) {
		fields := strings.Fields(line)
		if fields[0] == "#" {
			continue
		}
		trace, err := schedule.ParseTrace(fields[2])
		require.NoError(t, err)
		story, err := Replay(t, trace, DefaultBounds())
		require.NoError(t, err)
		cell := story.Cell()
		found, _ := audit.Judge(cell, history.TimelineOf(cell, history.Terms{}))
		for _, v := range []history.Verdict{history.Stock, history.Exclusion, history.OwnRelease, history.Liveness} {
			breaks, result := story.Breaks(v), history.FindingOf(found, v).Result
			switch late := strings.Contains(fields[2], ".late-"); {
			case !breaks && v != history.Exclusion:
				assert.NotEqual(t, history.Broken, result, "%s: %s", fields[2], v)
			case breaks && late:
			case breaks && v == history.Exclusion && slices.ContainsFunc(cell.Ops, isOpen):
			case breaks && v == history.Exclusion:
				assert.NotEqual(t, history.OK, result, "%s: %s", fields[2], v)
			case breaks:
				assert.Equal(t, history.Broken, result, "%s: %s", fields[2], v)
			}
			if breaks && result == history.Broken {
				broken[v]++
			}
		}
	}
	assert.Greater(t, broken[history.Stock], 100)
	assert.Greater(t, broken[history.Exclusion], 100)
	assert.Greater(t, broken[history.OwnRelease], 20)
	assert.Greater(t, broken[history.Liveness], 10)
}
