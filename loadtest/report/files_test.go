package report

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/history"
)

// The results of a large run have another name than those of a small one. Those of a run before it would pass for its
// own.
func TestResultsOfARunBeforeDoNotStay(t *testing.T) {
	dir := t.TempDir()
	small := &history.Run{Cells: []*history.Cell{{}}}
	medium := &history.Run{Cells: []*history.Cell{{Ops: []history.Op{{Detail: strings.Repeat("x", history.Packed)}}}}}
	large := &history.Run{Cells: []*history.Cell{{Ops: make([]history.Op, history.Large)}}}
	require.NoError(t, writeResults(dir, small))
	assert.Equal(t, []string{"results.json"}, filesIn(t, dir))
	require.NoError(t, writeResults(dir, medium))
	assert.Equal(t, []string{"results.json.gz"}, filesIn(t, dir))
	require.NoError(t, writeResults(dir, large))
	assert.Equal(t, []string{"results.jsonl.gz"}, filesIn(t, dir))
	require.NoError(t, writeResults(dir, small))
	assert.Equal(t, []string{"results.json"}, filesIn(t, dir))
}

func filesIn(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}
