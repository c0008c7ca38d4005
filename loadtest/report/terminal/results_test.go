package terminal_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/history"
)

// docs/results.md shows the matrix of the faults as a run prints it in which all cells are as expected.
func TestTheResultsShowTheMatrix(t *testing.T) {
	document, err := os.ReadFile("../../../docs/results.md")
	require.NoError(t, err)
	var cells []*history.Cell
	for _, s := range catalog.Table {
		for _, e := range s.Expect {
			if s.Fault() {
				cells = append(cells, asExpected(s.Name, e.Rung))
			}
		}
	}
	rows := 0
	for line := range strings.Lines(matrix(t, cells)) {
		name, _, _ := strings.Cut(line, " ")
		if s, known := catalog.Find(name); known && s.Fault() {
			rows++
			assert.Contains(t, string(document), strings.TrimRight(line, " \n"))
		}
	}
	assert.Positive(t, rows)
}
