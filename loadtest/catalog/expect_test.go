package catalog

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/history"
)

// everyRung names all rungs but those, which stand in for the rest of a scenario's table.
func everyRung(but ...string) groups {
	var numbers []string
	for _, r := range Rungs {
		numbers = append(numbers, r.Number)
	}
	named := " " + strings.Join(numbers, " ") + " "
	for _, b := range but {
		named = strings.Replace(named, " "+b+" ", " ", 1)
	}
	return on(named, holds, "so")
}

// A scenario says of every rung, exactly once, what becomes of it.
func TestATableThatIsWrong(t *testing.T) {
	for want, gs := range map[string]groups{
		"":                              everyRung(),
		"nothing is said of v4":         everyRung("v4"),
		"v4 is named twice":             all(everyRung(), on("v4", stuck, "no")),
		"v3 is named twice":             all(everyRung("v3"), skip("v3 v3", "no")),
		"there is no rung v44":          all(everyRung(), on("v44", stuck, "no")),
		"v4 cannot break fence":         all(everyRung("v4"), on("v4", outcome{history.Fence}, "no")),
		"v17 cannot break exclusion":    all(everyRung("v17"), on("v17", shared, "no")),
		"v2 is to be like v3, of which": all(everyRung("v2", "v3"), like("v2", Variant{Of: "v3"})),
		"v2 is to be like itself": all(everyRung("v2", "v3"),
			like("v2", Variant{Of: "v3"}), like("v3", Variant{Of: "v2"})),
	} {
		err := (&Scenario{groups: gs}).expand()
		if want == "" {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, want)
		}
	}
	assert.PanicsWithValue(t, "the catalogue is wrong: rain: nothing is said of v4", func() {
		complete([]Scenario{{Name: "rain", groups: everyRung("v4")}})
	})
}

// A variant that no group names comes to the same as its rung; a group of all others takes it in, though.
func TestVariantsInherit(t *testing.T) {
	rest := everyRung("v7", "v7-cached", "v9", "v9-naive")
	s := Scenario{groups: all(rest, on("v7", stuck, "it waits"), skip("v9", "no"))}
	require.NoError(t, s.expand())
	e := s.Expect[slices.IndexFunc(s.Expect, func(e Expectation) bool { return e.Rung == "v7-cached" })]
	assert.Equal(t, "as v7: it waits", e.Why)
	assert.Equal(t, history.Broken, e.Results[history.Liveness])
	assert.Equal(t, "as v9, when an order names one product: no", s.NotApplicable["v9-naive"])

	s = Scenario{groups: all(on("v7", stuck, "it waits"), skipOthers("no"))}
	require.NoError(t, s.expand())
	assert.Len(t, s.Expect, 1)
	assert.Equal(t, "no", s.NotApplicable["v7-cached"])
}

// A variant of a variant comes to the same as what that one comes to.
func TestVariantsOfVariantsInherit(t *testing.T) {
	expect := func(parts ...groups) (v19 Expectation, skipped string) {
		s := Scenario{groups: all(append(parts, everyRung("v15", "v18", "v19"))...)}
		require.NoError(t, s.expand())
		if i := slices.IndexFunc(s.Expect, func(e Expectation) bool { return e.Rung == "v19" }); i >= 0 {
			v19 = s.Expect[i]
		}
		return v19, s.NotApplicable["v19"]
	}
	e, _ := expect(on("v15", stuck, "it waits"))
	assert.Equal(t, "as v18: as v15: it waits", e.Why)
	assert.Equal(t, history.Broken, e.Results[history.Liveness])
	e, _ = expect(on("v15", holds, "no"), on("v18", stuck, "its own"))
	assert.Equal(t, "as v18: its own", e.Why)
	assert.Equal(t, history.Broken, e.Results[history.Liveness])
	_, skipped := expect(skip("v15", "no"))
	assert.Equal(t, "as v18: as v15: no", skipped)
	e, _ = expect(on("v15", stuck, "it waits"), like("v18", Variant{Of: "v15", When: "when it rains"}))
	assert.Equal(t, "as v18: as v15, when it rains: it waits", e.Why, "one that a group names, too")
}

// What is asked of a rung does not depend on the scenario, but for the one verdict that a scenario asks itself.
func TestEveryVerdictHasAResult(t *testing.T) {
	asks := Scenario{Asks: history.Order, groups: everyRung()}
	require.NoError(t, asks.expand())
	assert.Equal(t, map[history.Verdict]history.Result{
		history.Stock: history.OK, history.Exclusion: history.NotApplicable, history.OwnRelease: history.NotApplicable,
		history.Liveness: history.OK, history.Fence: history.NotApplicable, history.Order: history.OK,
		history.Herd: history.NotApplicable,
	}, asks.Expect[0].Results)
}

// The points of faults that the scenarios rest on are those of the rungs that need them.
func TestRungsHaveTheirPoints(t *testing.T) {
	for _, r := range Rungs {
		assert.NotEmpty(t, r.Read+r.Write, r.Number)
		assert.Contains(t, Kinds, r.Kind, r.Number)
		assert.Equal(t, r.Kind == NoLock, r.Acquire == "" && r.Release == "", r.Number)
		assert.True(t, r.Variant.Of == "" || RungOf(r.Variant.Of).Number != "", r.Number)
	}
	assert.LessOrEqual(t, len(Releases()), 8, "an order can carry no more faults than that")
	named, _ := Find("herd")
	for _, e := range named.Expect {
		assert.NotEmpty(t, RungOf(e.Rung).Taken, e.Rung)
	}
}
