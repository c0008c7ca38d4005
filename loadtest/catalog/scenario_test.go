package catalog_test

import (
	"cmp"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/history"
	"stockapi/loadtest/scenario"
)

// Every scenario has each rung once: with an expectation, or with the reason why it does not apply.
func TestTableIsComplete(t *testing.T) {
	for _, s := range scenario.Table {
		assert.NotEmpty(t, s.Does)
		seen := map[string]bool{}
		for _, e := range s.Expect {
			name := s.Name + " " + e.Rung
			assert.False(t, seen[e.Rung], "%s twice", name)
			seen[e.Rung] = true
			assert.NotEmpty(t, e.Why, name)
			for _, v := range history.Verdicts {
				assert.Contains(t, []history.Result{history.OK, history.Broken, history.NotApplicable}, e.Results[v],
					"%s: %s must be certain", name, v)
			}
		}
		for _, r := range catalog.Rungs {
			assert.NotEqual(t, seen[r.Number], s.NotApplicable[r.Number] != "",
				"%s in %s: either there is an expectation, or a reason why it does not apply", r.Number, s.Name)
		}
		assert.Len(t, catalog.Rungs, len(s.Expect)+len(s.NotApplicable), s.Name)
	}
}

func TestContentionComesFirst(t *testing.T) {
	assert.True(t, slices.IsSortedFunc(scenario.Table, func(a, b catalog.Scenario) int {
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

func titles(specs []catalog.Spec) []string {
	var out []string
	for _, s := range specs {
		out = append(out, s.Title())
	}
	return out
}

func TestSelect(t *testing.T) {
	all, err := scenario.Table.Select(nil, nil, 2, 1)
	require.NoError(t, err)
	expectations := 0
	for _, s := range scenario.Table {
		expectations += len(s.Expect)
	}
	assert.Equal(t, expectations, len(all)) //nolint:testifylint // Len would print all of them
	assert.Equal(t, "one-instance v0 nolock", all[0].Title(), "the cell that is sure to break comes first")

	some, err := scenario.Table.Select([]string{"two-instances"}, []string{"v4", "nolock"}, 3, 2)
	require.NoError(t, err)
	assert.Equal(t, []string{
		"two-instances v0 nolock", "two-instances v0 nolock", "two-instances v4 lua-release", "two-instances v4 lua-release",
	}, titles(some))
	assert.Equal(t, 3, some[0].Instances)
	assert.Equal(t, 2, some[1].Repetition)

	_, err = scenario.Table.Select(nil, []string{"v4", "v44"}, 2, 1)
	require.ErrorContains(t, err, `no rung "v44", did you mean "v4"`)
	_, err = scenario.Table.Select([]string{"rain"}, nil, 2, 1)
	require.ErrorContains(t, err, `no scenario "rain"; there are one-instance, two-instances`)
}

// Part restricts a copy of the table to the named scenarios and rungs.
func TestPart(t *testing.T) {
	whole, err := scenario.Table.Part(nil)
	require.NoError(t, err)
	assert.Equal(t, scenario.Table, whole)

	some, err := scenario.Table.Part([]string{"v16", "pause", "late-release", "lua-release"})
	require.NoError(t, err)
	require.Len(t, some, 2)
	assert.Equal(t, []string{"late-release", "pause"}, []string{some[0].Name, some[1].Name})
	assert.Len(t, some[0].Expect, 1)
	assert.Len(t, some[0].NotApplicable, 1)
	assert.Len(t, some[1].Expect, 2)

	shared, err := scenario.Table.Part([]string{"write-only-fence"})
	require.NoError(t, err)
	require.Len(t, shared, 1, "the scenario, not the rung of that name")
	assert.Len(t, shared[0].Expect, 2)

	_, err = scenario.Table.Part([]string{"v4", "rain"})
	require.ErrorContains(t, err, `no scenario or rung "rain"; there are one-instance`)
}
