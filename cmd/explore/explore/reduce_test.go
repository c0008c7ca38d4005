package explore

import (
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/backend/backendtest"
	"stockapi/loadtest/history"
)

// lengths returns the size of the shortest counterexample for each verdict: faults, switches, steps.
func lengths(c Exploration) map[history.Verdict][3]int {
	sizes := map[history.Verdict][3]int{}
	for _, one := range c.Found {
		sizes[one.Verdict] = [3]int{one.Faults, one.Switches, len(one.Trace.Steps)}
	}
	return sizes
}

// The reduced search, which tries one order of commuting steps, finds what the plain search finds, which tries all: the
// same verdicts, and counterexamples of the same length. EXPLORE_PLAIN sets how many schedules of a cell the plain
// search may run; 500 takes some minutes.
func TestReducedSearchFindsWhatThePlainOneFinds(t *testing.T) {
	backendtest.Long(t)
	t.Parallel()
	kinds := append([]FaultKind{{Name: "none"}}, FaultKinds...)
	schedules, plainly, most := 0, 0, ofPlain(60)
	if text := os.Getenv("EXPLORE_PLAIN"); text != "" {
		most, _ = strconv.Atoi(text)
	}
	for _, rung := range explorable() {
		for _, kind := range kinds {
			b := DefaultBounds()
			if kind.Name != "none" {
				b = b.With(1, kind)
			}
			if kind.Name != "none" && slices.Contains(quickRungs, rung) {
				if cell, _ := reduced(t, rung, b); cell.Schedules > most {
					continue // out of reach: the plain search has at least as many
				}
			}
			plain := b
			plain.Plain, plain.Schedules = true, most
			all := mustExplore(t, rung, plain)
			if !all.Exhausted && kind.Name == "none" {
				break // all kinds are out of reach: a fault adds to these schedules
			}
			if !all.Exhausted {
				continue
			}
			cell := mustExplore(t, rung, b)
			assert.True(t, cell.Exhausted)
			assert.Equal(t, lengths(all), lengths(cell), "%s %s", rung, kind.Name)
			assert.LessOrEqual(t, cell.Schedules, all.Schedules, "%s %s", rung, kind.Name)
			schedules += cell.Schedules + cell.Redundant
			plainly += all.Schedules
			t.Logf("%-14s %-12s %5d plain, %5d reduced, %d of them in vain", rung, kind.Name, all.Schedules,
				cell.Schedules+cell.Redundant, cell.Redundant)
		}
	}
	t.Logf("%d schedules instead of %d", schedules, plainly)
}

// ofPlain returns how many schedules of the plain search to run: a fifth in the slow build with the race detector,
// which looks for races between goroutines. A build without it runs all.
func ofPlain(schedules int) int {
	if backendtest.RaceDetected {
		return schedules / 5
	}
	return schedules
}

// A command may end another one of its client before that is carried out: a release ends a waiting renewal. No schedule
// then shows a race with the renewal. Still the reduced search takes every step that the plain one takes.
func TestReducedSearchTakesEveryStep(t *testing.T) {
	backendtest.Long(t)
	t.Parallel()
	for _, rung := range []string{"v4", "v5", "v5.5", "v11", "v15"} {
		for _, kind := range FaultKinds {
			b := DefaultBounds().With(1, kind)
			plain, err := newPlayer(t, rung, b)
			require.NoError(t, err)
			plain.bounds.Schedules, plain.taken = ofPlain(1500), map[string]bool{}
			all, whole, err := plain.enumerate()
			require.NoError(t, err)
			cell, taken := reduced(t, rung, b)
			assert.True(t, cell.Exhausted)
			if whole {
				assert.LessOrEqual(t, cell.Schedules, all.Complete, "%s %s", rung, kind.Name)
			}
			for step := range plain.taken {
				assert.True(t, taken[step], "%s %s: %v", rung, kind.Name, step)
			}
		}
	}
}

// A message that a release publishes is a step of its own, whenever it arrives.
func TestTheDeliveryOfAMessageIsAStep(t *testing.T) {
	t.Parallel()
	_, taken := reduced(t, "v7", DefaultBounds())
	for step := range taken {
		if strings.Contains(step, " message ") {
			return
		}
	}
	assert.Fail(t, "no message was delivered", "%v", slices.Collect(maps.Keys(taken)))
}

// With three nodes the plain search of v6 is out of reach, but the reduced one is not.
func TestRedlockIsReduced(t *testing.T) {
	backendtest.Long(t)
	t.Parallel()
	reduced := mustExplore(t, "v6", DefaultBounds())
	assert.True(t, reduced.Exhausted)
	plain := DefaultBounds()
	plain.Plain, plain.Schedules = true, ofPlain(10*(reduced.Schedules+reduced.Redundant))
	all := mustExplore(t, "v6", plain)
	assert.False(t, all.Exhausted, "the plain search has more than ten times as many schedules")
	assert.Empty(t, all.Found)
}
