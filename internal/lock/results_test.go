package lock

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// docs/results.md shows the table that TestConformance checks.
func TestTheConformanceTableIsInTheResults(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../../docs/results.md")
	require.NoError(t, err)
	if table := conformanceTable(); !strings.Contains(string(readme), table) {
		t.Errorf("docs/results.md shows another table than this one:\n%s", table)
	}
}

// conformanceTable returns the table as it stands there: one row per question, with the rungs that do not hold.
func conformanceTable() string {
	var b strings.Builder
	b.WriteString("| | breaks on | does not arise on |\n|---|---|---|\n")
	for i, q := range questions {
		row := strings.Join([]string{q.name, rungsThat(breaks, i), rungsThat(none, i)}, " | ")
		b.WriteString("| " + strings.ReplaceAll(row+" |", "  ", " ") + "\n")
	}
	return b.String()
}

// rungsThat returns the rungs that answer the question so, in the order of the ladder.
func rungsThat(a answer, question int) string {
	var rungs []string
	for _, r := range Ladder() {
		if conformance[r.Number][question] == a {
			rungs = append(rungs, r.Number)
		}
	}
	return strings.Join(rungs, " ")
}
