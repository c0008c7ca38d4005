package explore

import (
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// lengths returns the size of the shortest counterexample for each verdict: faults, switches, steps.
func lengths(c Cell) map[Verdict][3]int {
	sizes := map[Verdict][3]int{}
	for _, one := range c.Found {
		sizes[one.Verdict] = [3]int{one.Faults, one.Switches, len(one.Trace.Steps)}
	}
	return sizes
}

// A search that tries one order of steps that commute finds what the plain search finds, which tries all orders: the
// same verdicts, and counterexamples of the same length. EXPLORE_PLAIN sets how many schedules of a cell are in the
// plain search's reach; 500 takes some minutes.
func TestTheReducedSearchFindsWhatThePlainOneFinds(t *testing.T) {
	kinds := append([]FaultKind{{Name: "none"}}, FaultKinds...)
	schedules, plainly, most := 0, 0, 60
	if text := os.Getenv("EXPLORE_PLAIN"); text != "" {
		most, _ = strconv.Atoi(text)
	}
	for _, rung := range explorable() {
		for _, kind := range kinds {
			b := DefaultBounds()
			if kind.Name != "none" {
				b = b.With(1, kind)
			}
			plain := b
			plain.Plain, plain.Schedules = true, most
			all := mustExplore(t, rung, plain)
			if !all.Exhausted {
				continue // out of reach
			}
			reduced := mustExplore(t, rung, b)
			assert.True(t, reduced.Exhausted)
			assert.Equal(t, lengths(all), lengths(reduced), "%s %s", rung, kind.Name)
			assert.LessOrEqual(t, reduced.Schedules, all.Schedules, "%s %s", rung, kind.Name)
			schedules += reduced.Schedules + reduced.Redundant
			plainly += all.Schedules
			t.Logf("%-14s %-12s %5d plain, %5d reduced, %d of them in vain", rung, kind.Name, all.Schedules,
				reduced.Schedules+reduced.Redundant, reduced.Redundant)
		}
	}
	t.Logf("%d schedules instead of %d", schedules, plainly)
}

// A command may end another one of its client before that is carried out: a release ends a renewal that waits. No
// schedule then shows a race with the renewal. Still the reduced search takes every step that the plain one takes.
func TestTheReducedSearchTakesEveryStep(t *testing.T) {
	for _, rung := range []string{"v4", "v5", "v5.5", "v11", "v15"} {
		for _, kind := range FaultKinds {
			b := DefaultBounds().With(1, kind)
			plain, err := newSearch(t, rung, b)
			require.NoError(t, err)
			plain.bounds.Schedules, plain.taken = 1500, map[stepID]bool{}
			plain.all(&depthFirst{})
			reduced, err := newSearch(t, rung, b)
			require.NoError(t, err)
			reduced.taken = map[stepID]bool{}
			assert.True(t, (&reduction{search: reduced}).all())
			for step := range plain.taken {
				assert.Contains(t, reduced.taken, step, "%s %s", rung, kind.Name)
			}
		}
	}
}

// With three nodes the plain search of v6 is out of reach, and the reduced one is not.
func TestRedlockIsReduced(t *testing.T) {
	reduced := mustExplore(t, "v6", DefaultBounds())
	assert.True(t, reduced.Exhausted)
	plain := DefaultBounds()
	plain.Plain, plain.Schedules = true, 10*(reduced.Schedules+reduced.Redundant)
	all := mustExplore(t, "v6", plain)
	assert.False(t, all.Exhausted, "the plain search has more than ten times as many schedules")
	assert.Empty(t, all.Found)
}
