package lock

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The README shows what TestConformance finds: the table there is this one.
func TestREADMEShowsTheConformanceTable(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	if table := conformanceTable(); !strings.Contains(string(readme), table) {
		t.Errorf("README.md shows another table than this one:\n%s", table)
	}
}

// conformanceTable returns the table as the README has it: a row a question, a column a rung.
func conformanceTable() string {
	marks := map[answer]string{holds: "holds", breaks: "**breaks**", none: "–"}
	var b strings.Builder
	b.WriteString("| |")
	for _, r := range Ladder() {
		b.WriteString(" " + r.Number + " |")
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(Ladder())) + "\n")
	for i, q := range questions {
		b.WriteString("| " + q.name + " |")
		for _, r := range Ladder() {
			b.WriteString(" " + marks[conformance[r.Number][i]] + " |")
		}
		b.WriteString("\n")
	}
	return b.String()
}
