package catalog_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/scenario"
)

func TestNearNamesAreProposed(t *testing.T) {
	for name, want := range map[string]string{
		"v44":           `there is no rung "v44", did you mean "v4"?`,
		"V44":           `there is no rung "v44", did you mean "v4"?`,
		"5.5":           `there is no rung "5.5", did you mean "v5.5"?`,
		"lua-relase":    `there is no rung "lua-relase", did you mean "lua-release"?`,
		"v15-write-ony": `there is no rung "v15-write-ony", did you mean "v15-write-only"?`,
	} {
		_, err := scenario.Table.Select(nil, []string{name}, 2, 1)
		assert.EqualError(t, err, want)
	}
	_, err := scenario.Table.Select([]string{"split"}, nil, 2, 1)
	assert.EqualError(t, err, `there is no scenario "split", did you mean "split-vote"?`)
	_, err = scenario.Table.Select([]string{"puase"}, nil, 2, 1)
	assert.EqualError(t, err, `there is no scenario "puase", did you mean "pause"?`)
	_, err = scenario.Table.Select([]string{"rain"}, nil, 2, 1)
	assert.ErrorContains(t, err, `there is no scenario "rain"; there are one-instance`)
	_, err = scenario.Table.Part([]string{"pauze"})
	assert.EqualError(t, err, `there is no scenario or rung "pauze", did you mean "pause"?`)
	_, err = scenario.Table.Select([]string{"Pause"}, []string{"V4", "RedLock"}, 2, 1)
	assert.NoError(t, err, "as prose spells them")
	assert.Empty(t, catalog.DidYouMean("", []string{"auto"}))
	assert.Equal(t, `, did you mean "list"?`, catalog.DidYouMean("lits", []string{"all", "list"}), "two letters swapped")
	assert.Empty(t, catalog.DidYouMean("lsit5", []string{"try"}))
}

// The error has the reason.
func TestEmptySelectionIsRefused(t *testing.T) {
	_, err := scenario.Table.Select([]string{"pause", "crash"}, []string{"v0.5", "nolock"}, 2, 1)
	assert.ErrorContains(t, err, "no cell is left: crash does not apply to v0: it guards nothing")
	assert.ErrorContains(t, err, `"loadtest list v0" lists the scenarios that do`)
}
