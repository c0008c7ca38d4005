package scenario

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"stockapi/loadtest/catalog"
)

// Every fault scenario of the catalogue can be played, and nothing else is.
func TestEveryFaultScenarioCanBePlayed(t *testing.T) {
	for _, s := range catalog.Table {
		assert.Equal(t, s.Fault(), plays[s.Name] != nil, s.Name)
	}
	for name := range plays {
		_, known := catalog.Find(name)
		assert.True(t, known, name)
	}
}
