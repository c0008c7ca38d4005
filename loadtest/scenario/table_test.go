package scenario

import (
	"testing"

	"stockapi/loadtest/catalog"

	"github.com/stretchr/testify/assert"
)

// The points of faults that the scenarios rest on are those of the rungs that need them.
func TestRungsHaveTheirPoints(t *testing.T) {
	for _, r := range catalog.Rungs {
		assert.NotEmpty(t, r.Read+r.Write, r.Number)
		assert.NotEmpty(t, r.Kind, r.Number)
		assert.Equal(t, r.Kind == catalog.NoLock, r.Acquire == "", r.Number)
		assert.True(t, r.Variant.Of == "" || catalog.RungOf(r.Variant.Of).Number != "", r.Number)
	}
	named, _ := Table.Find("herd")
	for _, e := range named.Expect {
		assert.NotEmpty(t, catalog.RungOf(e.Rung).Taken, e.Rung)
	}
}

// Something goes wrong in every scenario without a crowd, and in no other.
func TestEveryFaultScenarioIsInjected(t *testing.T) {
	for _, s := range scenarios {
		assert.Equal(t, s.Fault(), s.inject != nil, s.Name)
	}
}
