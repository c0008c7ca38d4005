package catalog

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/history"
)

// everyRung returns a group of all rungs except those named.
func everyRung(but ...string) Groups {
	var numbers []string
	for _, r := range Rungs {
		numbers = append(numbers, r.Number)
	}
	named := " " + strings.Join(numbers, " ") + " "
	for _, b := range but {
		named = strings.Replace(named, " "+b+" ", " ", 1)
	}
	return On(named, Holds, "so")
}

// A scenario has exactly one expectation for every rung, or a reason to skip it.
func TestWrongTable(t *testing.T) {
	for want, gs := range map[string]Groups{
		"":                           everyRung(),
		"v4 has no expectation":      everyRung("v4"),
		"v4 is named twice":          slices.Concat(everyRung(), On("v4", Stuck, "no")),
		"v3 is named twice":          slices.Concat(everyRung("v3"), Skip("v3 v3", "no")),
		"there is no rung v44":       slices.Concat(everyRung(), On("v44", Stuck, "no")),
		"v4 cannot break fence":      slices.Concat(everyRung("v4"), On("v4", Breaks{history.Fence}, "no")),
		"v17 cannot break exclusion": slices.Concat(everyRung("v17"), On("v17", Shared, "no")),
		"v3 has no expectation":      slices.Concat(everyRung("v2", "v3"), Like("v2", Variant{Of: "v3"})),
		"is to be like itself": slices.Concat(everyRung("v2", "v3"),
			Like("v2", Variant{Of: "v3"}), Like("v3", Variant{Of: "v2"})),
	} {
		err := (&Scenario{}).expand(gs)
		if want == "" {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, want)
		}
	}
	assert.PanicsWithValue(t, "the catalogue is wrong: rain: v4 has no expectation", func() {
		Scenario{Name: "rain"}.Expecting(everyRung("v4"))
	})
}

// A variant that no group names has the expectation of its rung, even if there is a group of all others.
func TestVariantsInherit(t *testing.T) {
	rest := everyRung("v7", "v7-cached", "v9", "v9-naive")
	s := Scenario{}.Expecting(rest, On("v7", Stuck, "it waits"), Skip("v9", "no"))
	e, _ := s.Expected("v7-cached")
	assert.Equal(t, "as v7: it waits", e.Why)
	assert.Equal(t, history.Broken, e.Results[history.Liveness])
	assert.Equal(t, "as v9, when an order names one product: no", s.NotApplicable["v9-naive"])

	s = Scenario{}.Expecting(On("v7", Stuck, "it waits"), On("v15", Holds, "it is fenced"), SkipOthers("no"))
	e, _ = s.Expected("v7-cached")
	assert.Equal(t, "as v7: it waits", e.Why)
	e, _ = s.Expected("v19")
	assert.Equal(t, "as v18: as v15: it is fenced", e.Why)
	assert.Equal(t, "no", s.NotApplicable["v9-naive"], "no group names v9 either")
	assert.Len(t, s.Expect, 5)
}

// A variant of a variant inherits from it.
func TestVariantsOfVariantsInherit(t *testing.T) {
	expect := func(parts ...Groups) (v19 Expectation, skipped string) {
		s := Scenario{}.Expecting(append(parts, everyRung("v15", "v18", "v19"))...)
		v19, _ = s.Expected("v19")
		return v19, s.NotApplicable["v19"]
	}
	e, _ := expect(On("v15", Stuck, "it waits"))
	assert.Equal(t, "as v18: as v15: it waits", e.Why)
	assert.Equal(t, history.Broken, e.Results[history.Liveness])
	e, _ = expect(On("v15", Holds, "no"), On("v18", Stuck, "its own"))
	assert.Equal(t, "as v18: its own", e.Why)
	assert.Equal(t, history.Broken, e.Results[history.Liveness])
	_, skipped := expect(Skip("v15", "no"))
	assert.Equal(t, "as v18: as v15: no", skipped)
	e, _ = expect(On("v15", Stuck, "it waits"), Like("v18", Variant{Of: "v15", When: "when it rains"}))
	assert.Equal(t, "as v18: as v15, when it rains: it waits", e.Why, "a rung that is named by Like")
}

// The verdicts judged for a rung do not depend on the scenario, except for one that the scenario may add.
func TestEveryVerdictHasAResult(t *testing.T) {
	asks := Scenario{AlsoJudged: history.InOrder}.Expecting(everyRung())
	assert.Equal(t, map[history.Verdict]history.Result{
		history.Stock: history.OK, history.Exclusion: history.NotApplicable, history.OwnRelease: history.NotApplicable,
		history.Liveness: history.OK, history.Fence: history.NotApplicable, history.InOrder: history.OK,
		history.Herd: history.NotApplicable,
	}, asks.Expect[0].Results)
}
