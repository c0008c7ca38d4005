package terminal_test

import (
	"os"
	"regexp"
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
	text := printed(wholeRun(t), terminal.Printer{}, terminal.Outcome{})
	_, grid, found := strings.Cut(text, "~ longer leases\n")
	require.True(t, found, text)
	grid, _, _ = strings.Cut(grid, "--verbose")
	assert.Contains(t, string(document), grid)
}

// The lines of docs/results.md are of one run: both tables of the crowd over two instances have the same figures.
func TestTheResultsAreOfOneRun(t *testing.T) {
	document, err := os.ReadFile("../../../docs/results.md")
	require.NoError(t, err)
	_, table, found := strings.Cut(string(document), "\ntwo-instances: ")
	require.True(t, found)
	table, _, _ = strings.Cut(table, "```")
	rungs := 0
	for line := range strings.Lines(table) {
		words := strings.Fields(line)
		if len(words) < 10 || catalog.RungOf(words[0]).Number == "" {
			continue
		}
		rungs++
		of := words[len(words)-10:] // sold refused busy unknown left twice req/s p50 p99 cmd/sale
		same := append([]string{regexp.QuoteMeta(words[0]), `\S+`, `\S+`}, of[0], of[4], of[5], of[6], of[8], of[9])
		assert.Regexp(t, `(^|\n|  )`+strings.Join(same, " +")+`( |\n)`, string(document))
	}
	assert.Len(t, catalog.Rungs, rungs)
}
