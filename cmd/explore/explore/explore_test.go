package explore

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/lock"
	"stockapi/loadtest/catalog"
	"stockapi/loadtest/history"
	"stockapi/loadtest/schedule"
)

// explorable are the rungs whose locks are in Redis.
func explorable() (numbers []string) {
	for _, r := range lock.Ladder() {
		if IsExplorable(r) {
			numbers = append(numbers, r.Number)
		}
	}
	return numbers
}

// searched holds a function for each search that a test has requested. Several tests request the same one.
var searched sync.Map

// once runs a search, or returns its earlier result. The tests run in parallel.
func once[T any](kind, rung string, b Bounds, search func() T) T {
	f, _ := searched.LoadOrStore(fmt.Sprintf("%s %s %+v", kind, rung, b), sync.OnceValue(search))
	return f.(func() T)()
}

func mustExplore(t *testing.T, rung string, b Bounds) Exploration {
	t.Helper()
	type found struct {
		cell Exploration
		err  error
	}
	f := once("explore", rung, b, func() found {
		cell, err := Explore(t, rung, b)
		return found{cell, err}
	})
	require.NoError(t, f.err, rung)
	return f.cell
}

// reduced runs the reduced search of a cell, without looking for shorter counterexamples. It also returns the IDs
// of the steps taken.
func reduced(t *testing.T, rung string, b Bounds) (Exploration, map[string]bool) {
	t.Helper()
	type found struct {
		cell  Exploration
		taken map[string]bool
		err   error
	}
	f := once("reduce", rung, b, func() found {
		p, err := newPlayer(t, rung, b)
		if err != nil {
			return found{err: err}
		}
		p.taken = map[string]bool{}
		tally, exhausted, err := p.all()
		cell := Exploration{Rung: rung, Fault: FaultNames(b), Exhausted: exhausted, Schedules: tally.Complete}
		for v := range tally.Found {
			cell.Found = append(cell.Found, Counterexample{Violation: Violation{Verdict: v}})
		}
		return found{cell, p.taken, err}
	})
	require.NoError(t, f.err, rung)
	return f.cell, f.taken
}

// Without a fault, only the rungs that the table names break.
func TestEveryRungWithoutAFault(t *testing.T) {
	t.Parallel()
	for _, rung := range explorable() {
		cell := mustExplore(t, rung, DefaultBounds())
		assert.True(t, cell.Exhausted, rung)
		assert.Positive(t, cell.Schedules, rung)
		assert.Empty(t, cell.Surprise(), "%s: %v", rung, cell.Found)
		_, _, expected := catalog.ExpectSchedules(rung, "", "none")
		assert.True(t, expected, rung)
	}
}

// The shortest counterexamples of the rungs that are easiest to understand.
func TestTheShortestCounterexamples(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rung, fault string
		verdict     history.Verdict
		trace       string
	}{
		{"v0", "", history.Stock, "v0:abba"},
		{"v0.5", "", history.Stock, "v0.5:abba"},
		{"v3", "expiry", history.OwnRelease, "v3:aaaa.expiry.ba"},
		{"v4", "expiry", history.Exclusion, "v4:a.expiry.bba"},
		{"v4", "expiry", history.Stock, "v4:aa.expiry.bbba"},
	} {
		b := DefaultBounds()
		for _, kind := range FaultKinds {
			if kind.Name == c.fault {
				b = b.With(1, kind)
			}
		}
		cell := mustExplore(t, c.rung, b)
		var traces []string
		for _, one := range cell.Found {
			if one.Verdict == c.verdict {
				traces = append(traces, one.Trace.String())
			}
		}
		assert.Equal(t, []string{c.trace}, traces, "%s %s %s", c.rung, c.fault, c.verdict)
	}
}

// A counterexample can be run again, and breaks the same verdict at the same step.
func TestACounterexampleIsReplayed(t *testing.T) {
	t.Parallel()
	for _, rung := range []string{"v0", "v5-as-printed", "v11-two"} {
		cell := mustExplore(t, rung, DefaultBounds())
		require.NotEmpty(t, cell.Found, rung)
		for _, one := range cell.Found {
			trace, err := schedule.ParseTrace(one.Trace.String())
			require.NoError(t, err)
			story, err := Replay(t, trace, DefaultBounds())
			require.NoError(t, err)
			assert.Contains(t, story.Broken, one.Violation, one.Trace)
		}
	}
}

func TestImpossibleTraceNamesTheStep(t *testing.T) {
	for text, wrong := range map[string]string{
		"v4:aaaaa":    "step 5 of the trace, a, cannot be taken; possible steps: b",
		"v99:a":       "no such rung",
		"v13:a":       "not in Redis",
		"v4:a.drop-a": "step 2 of the trace, drop-a, cannot be taken",
		"v4/rain:a":   "there is no situation \"rain\"",
		"v4/nested:a": "the situation nested does not apply to v4",
		"v4:arrive-a": "step 1 of the trace, arrive-a, cannot be taken",
	} {
		trace, err := schedule.ParseTrace(text)
		require.NoError(t, err, text)
		_, err = Replay(t, trace, DefaultBounds())
		assert.ErrorContains(t, err, wrong, text)
	}
}

// quickRungs are explored under each kind of fault here. Rungs that wait or have several nodes take minutes: the
// program explores them.
var quickRungs = strings.Fields("v1 v1.5 v2 v3 v4 v5 v5-as-printed v5.5 v15 v15-write-only v16 v17")

// Under one fault, each rung breaks exactly the verdicts that the table predicts.
func TestEveryKindOfFault(t *testing.T) {
	if testing.Short() {
		t.Skip("takes longer than a second")
	}
	t.Parallel()
	for _, kind := range FaultKinds {
		for _, rung := range quickRungs {
			_, _, expected := catalog.ExpectSchedules(rung, "", kind.Name)
			require.True(t, expected, "%s %s", rung, kind.Name)
			cell, _ := reduced(t, rung, DefaultBounds().With(1, kind))
			assert.True(t, cell.Exhausted)
			assert.Empty(t, cell.Surprise(), "%s %s: %v", rung, kind.Name, cell.Found)
		}
	}
}

// The catalogue covers every rung under every kind of fault, and only what the rung promises.
func TestCatalogueCoversEveryCell(t *testing.T) {
	for _, rung := range explorable() {
		built, err := lock.Find(rung)
		require.NoError(t, err)
		for _, kind := range append(FaultKinds, FaultKind{Name: "none"}) {
			for _, s := range append(Situations, Situation{}) {
				breaks, why, expected := catalog.ExpectSchedules(rung, s.Name, kind.Name)
				assert.True(t, expected || s.Name != "", "%s %s", rung, kind.Name)
				assert.Equal(t, expected, why != "", "%s %s", rung, kind.Name)
				assert.True(t, !expected || s.Name == "" || slices.Contains(s.Rungs, rung), "%s %s", rung, s.Name)
				for _, v := range breaks {
					assert.True(t, applies(v, built), "%s %s", rung, v)
				}
			}
		}
	}
}

// A surprise is reported in both directions.
func TestSurprise(t *testing.T) {
	broken := []Counterexample{{Violation: Violation{Verdict: history.Stock}}}
	safe := Exploration{Rung: "v4", Fault: "none", Found: broken, Exhausted: true}
	assert.Contains(t, safe.Surprise(), "stock should hold")
	assert.Contains(t, Exploration{Rung: "v0", Fault: "none", Exhausted: true}.Surprise(), "stock should break")
	assert.Empty(t, Exploration{Rung: "v0", Fault: "none"}.Surprise(), "not exhausted")
}

// A schedule is deterministic.
func TestScheduleIsDeterministic(t *testing.T) {
	t.Parallel()
	for text, why := range map[string]string{
		"v9-nodes:aaaaaaaabb.lose-request-b.time.lose-request-b.time": "a reply is awaited twice, while renewals begin",
		"v7:aaabbb.expiry.b.give-up-b.b":                              "a message arrives for a waiter whose caller has gone",
	} {
		trace, err := schedule.ParseTrace(text)
		require.NoError(t, err)
		steps := func() (all []schedule.Step) {
			story, err := Replay(t, trace, DefaultBounds())
			require.NoError(t, err)
			for _, line := range story.Lines {
				all = append(all, line.Step)
			}
			return all
		}
		first := steps()
		for range 20 {
			require.Equal(t, first, steps(), why)
		}
	}
}
