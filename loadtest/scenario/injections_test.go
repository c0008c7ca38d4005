package scenario

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"stockapi/loadtest/catalog"
)

// Every fault scenario of the catalogue has its injection, and nothing else has.
func TestEveryFaultScenarioIsInjected(t *testing.T) {
	for _, s := range catalog.Table {
		assert.Equal(t, s.Fault(), injections[s.Name] != nil, s.Name)
	}
	for name := range injections {
		_, known := catalog.Find(name)
		assert.True(t, known, name)
	}
}
