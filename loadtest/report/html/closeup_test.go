package html

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/audit"
	"stockapi/loadtest/history"
)

// Of recorded cells, one or more for each scenario and kind of violation, every violation can be made out in one of the
// timelines: what proves it takes 5 % of the axis or more. STOCKAPI_RESULTS names the results of a run of your own.
func TestEveryViolationOfARunCanBeMadeOut(t *testing.T) {
	run, err := history.Open(recorded())
	require.NoError(t, err)
	violations, narrowed := 0, 0
	for _, c := range run.Cells {
		if c.NotRun != "" || len(c.Ops) == 0 {
			continue
		}
		c.Findings, _ = audit.Judge(c)
		whole := choose(c)
		windows := append([]window{whole}, closeUps(c, whole)...)
		for _, f := range c.Findings {
			at := proof(c, f)
			if f.Result != history.Broken || at.empty() {
				continue
			}
			violations++
			if at.length() < whole.length()/20 {
				narrowed++
			}
			widest := 0.0
			for _, w := range windows {
				if w.lo <= at.lo && at.hi <= w.hi {
					widest = max(widest, at.length()/w.length())
				}
			}
			assert.GreaterOrEqual(t, widest, .05, "%s %s: %s", c.Scenario, c.Rung, f.Verdict)
		}
	}
	t.Logf("%d cells, %d violations, %d of them narrower than 5 %% of the timeline of the whole cell", len(run.Cells),
		violations, narrowed)
	assert.Positive(t, narrowed)
}

func recorded() string {
	if file := os.Getenv("STOCKAPI_RESULTS"); file != "" {
		return file
	}
	return filepath.Join("testdata", "violations.jsonl.gz")
}

// proof returns the time between the two marks that show a violation: the writes of a unit that was sold twice, and of
// all else the times of the evidence.
func proof(c *history.Cell, f history.Finding) span {
	s := noSpan()
	if len(f.Evidence) == 0 {
		return s
	}
	first := f.Evidence[0]
	if f.Verdict == history.Stock {
		for i := range c.Ops {
			op := &c.Ops[i]
			if write := op.LastWrite(); write != nil && slices.Contains(first.Orders, op.Order) {
				s.include(write.End)
			}
		}
	}
	if s.empty() {
		s.include(first.At...)
	}
	return s
}
