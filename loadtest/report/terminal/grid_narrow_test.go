package terminal

import (
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"

	"stockapi/loadtest/catalog"
)

// However small the width for names is, all of them differ.
func TestNamesThatAreCutDiffer(t *testing.T) {
	for width := tinyName; width < 30; width++ {
		seen := map[string]string{}
		for _, s := range catalog.Table {
			short := cut(s.Name, width)
			assert.LessOrEqual(t, utf8.RuneCountInString(short), width)
			assert.Empty(t, seen[short], "%s in %d columns", s.Name, width)
			seen[short] = s.Name
		}
	}
	assert.Equal(t, "stock-…lover", cut("stock-failover", 12))
	assert.Equal(t, "split-brain-m…", cut("split-brain-min-replicas", 14))
}
