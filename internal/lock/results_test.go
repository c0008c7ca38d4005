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

// conformanceTable returns the table as it stands there: one row per rung, one column per question.
func conformanceTable() string {
	marks := map[answer]string{holds: "holds", breaks: "**breaks**", none: "–"}
	var b strings.Builder
	b.WriteString("| |")
	for _, q := range questions {
		b.WriteString(" " + q.name + " |")
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(questions)) + "\n")
	for _, r := range Ladder() {
		b.WriteString("| " + r.Number + " |")
		for i := range questions {
			b.WriteString(" " + marks[conformance[r.Number][i]] + " |")
		}
		b.WriteString("\n")
	}
	return b.String()
}
