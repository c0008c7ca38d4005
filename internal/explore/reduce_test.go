package explore

import (
	"testing"

	"github.com/stretchr/testify/assert"
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
// same verdicts, and counterexamples of the same length.
func TestTheReducedSearchFindsWhatThePlainOneFinds(t *testing.T) {
	kinds := append([]FaultKind{{Name: "none"}}, FaultKinds...)
	schedules, plainly := 0, 0
	for _, rung := range explorable() {
		for _, kind := range kinds {
			b := DefaultBounds()
			if kind.Name != "none" {
				b = b.With(1, kind)
			}
			plain := b
			plain.Plain, plain.Schedules = true, 500
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
