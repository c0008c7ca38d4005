package terminal_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/report/terminal"
)

// docs/results.md shows the matrix of the faults as a run prints it in which all cells are as expected.
func TestTheResultsShowTheMatrix(t *testing.T) {
	document, err := os.ReadFile("../../../docs/results.md")
	require.NoError(t, err)
	rows := 0
	for line := range strings.Lines(printed(wholeRun(t), terminal.Printer{}, terminal.Outcome{})) {
		name, _, _ := strings.Cut(line, " ")
		if s, known := catalog.Find(name); known && s.Fault() {
			rows++
			assert.Contains(t, string(document), "\n"+line)
		}
	}
	assert.Positive(t, rows)
}
