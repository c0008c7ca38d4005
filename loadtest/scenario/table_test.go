package scenario_test

import (
	"cmp"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/history"
	"stockapi/loadtest/scenario"
)

func TestTheTableIsComplete(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range scenario.Table {
		assert.NotEmpty(t, s.Does)
		for _, e := range s.Expect {
			name := s.Name + " " + e.Rung
			assert.False(t, seen[name], "%s twice", name)
			seen[name] = true
			assert.NotEmpty(t, scenario.NameOf(e.Rung), name)
			assert.NotEmpty(t, e.Why, name)
			for _, v := range history.Verdicts {
				assert.Contains(t, []history.Result{history.OK, history.Broken, history.NotApplicable}, e.Verdicts.Of(v),
					"%s: %s must be certain", name, v)
			}
		}
	}
	for _, s := range scenario.Table {
		for _, r := range scenario.Rungs {
			assert.NotEqual(t, seen[s.Name+" "+r.Number], s.Apart[r.Number] != "",
				"%s in %s: either there is an expectation, or a reason why it does not apply", r.Number, s.Name)
		}
		assert.LessOrEqual(t, len(s.Expect)+len(s.Apart), len(scenario.Rungs), s.Name)
	}
}

func TestContentionComesFirst(t *testing.T) {
	assert.True(t, slices.IsSortedFunc(scenario.Table, func(a, b scenario.Scenario) int {
		return cmp.Compare(number(a.Fault()), number(b.Fault()))
	}))
	assert.Equal(t, "v0", scenario.Table[0].Expect[0].Rung)
}

func number(b bool) int {
	if b {
		return 1
	}
	return 0
}

func titles(specs []scenario.Spec) []string {
	var out []string
	for _, s := range specs {
		out = append(out, s.Title())
	}
	return out
}

func TestSelect(t *testing.T) {
	all, err := scenario.Select(nil, nil, 2, 1)
	require.NoError(t, err)
	expectations := 0
	for _, s := range scenario.Table {
		expectations += len(s.Expect)
	}
	assert.Equal(t, expectations, len(all)) //nolint:testifylint // Len would print all of them
	assert.Equal(t, "one-instance v0 nolock", all[0].Title(), "the one that is sure to break comes first")

	some, err := scenario.Select([]string{"two-instances"}, []string{"v4", "nolock"}, 3, 2)
	require.NoError(t, err)
	assert.Equal(t, []string{
		"two-instances v0 nolock", "two-instances v0 nolock", "two-instances v4 lua-release", "two-instances v4 lua-release",
	}, titles(some))
	assert.Equal(t, 3, some[0].Instances)
	assert.Equal(t, 2, some[1].Repetition)

	_, err = scenario.Select(nil, []string{"v4", "v44"}, 2, 1)
	require.ErrorContains(t, err, `no rung "v44"; there are v0, nolock`)
	_, err = scenario.Select([]string{"rain"}, nil, 2, 1)
	require.ErrorContains(t, err, `no scenario "rain"; there are one-instance, two-instances`)
}
