package contract_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/contract"
)

// The document names every route and every member of the contract, and how much each is needed.
func TestTheDocumentTellsTheContract(t *testing.T) {
	b, err := os.ReadFile("../../docs/contract.md")
	require.NoError(t, err)
	sections := map[string]string{}
	for section := range strings.SplitSeq(string(b), "\n### ") {
		title, text, _ := strings.Cut(section, "\n")
		sections[strings.Trim(title, "`")] = text
	}
	for _, r := range contract.Routes {
		section, there := sections[strings.ReplaceAll(r.Name, ": ", "`: `")]
		if !assert.True(t, there, "docs/contract.md has no section %q", r.Name) {
			continue
		}
		assert.Contains(t, section, "**"+string(r.Need)+"**", r.Name)
		for _, m := range slices.Concat(r.Members, r.Sometimes) {
			assert.Contains(t, section, "| `"+m.Path+"` | "+string(m.Kind)+" | "+string(m.Need)+" | "+m.Without+" |", r.Name)
		}
	}
}
