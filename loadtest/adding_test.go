package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"go/format"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// An addition inserts text before a text that the file must contain, or replaces the whole file.
type addition struct{ file, before, text string }

// newScenario is a scenario: its file, and its name in the list.
var newScenario = []addition{
	{"loadtest/scenario/drizzle.go", "", `package scenario

import (
	"time"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/client"
)

var drizzle = declare(catalog.Scenario{
	Name:      "drizzle",
	Does:      "one order works for a while",
	Instances: 2,
}, injectDrizzle,
	on("v4", holds, "it rains on everybody"),
	skipOthers("they stay at home"),
)

func injectDrizzle(f *play) {
	f.warmUp()
	begun := time.Now()
	first := f.order(a, "1", client.Order{Fault: "hold@before:" + f.rung.Write})
	first.waitHeld()
	first.finish()
	first.recordFault(begun, "wet")
}
`},
	{"loadtest/scenario/table.go", "crash, slowWork,", "drizzle, "},
}

// A new scenario takes one file, and a new rung a file and the entries that scripts/assign makes. Then the rung has its
// column in the matrix, and is a surprise until it works; the scenario has its row, in which the rung has the
// expectation of the rung that it is a variant of.
func TestAddingRungAndScenario(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds both programs")
	}
	need(t, "bash")
	t.Parallel()
	dir := t.TempDir()
	overlay := overlaid(t, dir, slices.Concat(assignments(t), newScenario))
	run := func(program string, args ...string) (string, error) {
		cmd := exec.Command(program, args...)
		cmd.Dir, cmd.Env = "..", append(os.Environ(), "LOADTEST_STOCKAPI="+filepath.Join(dir, "stockapi"))
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	out, err := run("go", "build", "-overlay", overlay, "-o", dir+string(filepath.Separator), "./cmd/stockapi",
		"./loadtest")
	require.NoError(t, err, out)
	cells := func(rungs, scenarios string) (string, error) {
		return run(filepath.Join(dir, "loadtest"), "run", "--no-out", "--backend", "embedded", "--rungs", rungs,
			"--scenarios", scenarios)
	}
	out, err = cells("v99-stub", "two-instances")
	assert.Error(t, err, out)
	assert.Contains(t, out, "v99-stub stub: stock was expected to be ok and is BROKEN")
	out, err = cells("v4,v99-solved", "two-instances,drizzle,late-release")
	require.NoError(t, err, out)
	assert.Contains(t, out, "as expected (6 of 6 cells)")
}

// assignments returns the edits of scripts/assign for two assignments of v4: v99-stub as assigned, and v99-solved, a
// copy of v4.
func assignments(t *testing.T) (edits []addition) {
	t.Helper()
	known := []string{"internal/lock/ladder.go", "internal/lock/conformance_test.go", "loadtest/catalog/rung.go"}
	dir := t.TempDir()
	for _, file := range append(known, "scripts/assign") {
		text, err := os.ReadFile(filepath.Join("..", file))
		require.NoError(t, err)
		require.NoError(t, os.MkdirAll(filepath.Join(dir, filepath.Dir(file)), 0o750))
		require.NoError(t, os.WriteFile(filepath.Join(dir, file), text, 0o600))
	}
	for _, name := range []string{"stub", "solved"} {
		out, err := exec.Command("bash", filepath.Join(dir, "scripts/assign"), "v4", name).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	for _, file := range append(known, "internal/lock/v99_stub.go") {
		text, err := os.ReadFile(filepath.Join(dir, file))
		require.NoError(t, err)
		formatted, err := format.Source(text)
		require.NoError(t, err)
		assert.True(t, bytes.Equal(formatted, text), "gofmt would change %s", file)
		edits = append(edits, addition{file, "", string(text)})
	}
	v4, err := os.ReadFile("../internal/lock/v4_lua_release.go")
	require.NoError(t, err)
	solved := strings.ReplaceAll(string(v4), "luaRelease", "solvedLock")
	return append(edits, addition{"internal/lock/v99_solved.go", "", solved})
}

// overlaid writes the changed files, and the file for go build -overlay. A file can be edited twice.
func overlaid(t *testing.T, dir string, edits []addition) (overlay string) {
	t.Helper()
	replace := map[string]string{}
	for i, e := range edits {
		original, err := filepath.Abs(filepath.Join("..", e.file))
		require.NoError(t, err)
		text := e.text
		if e.before != "" {
			old, err := os.ReadFile(cmp.Or(replace[original], original))
			require.NoError(t, err)
			require.Contains(t, string(old), e.before, e.file)
			text = strings.Replace(string(old), e.before, e.text+e.before, 1)
		}
		replace[original] = filepath.Join(dir, string(rune('a'+i)))
		require.NoError(t, os.WriteFile(replace[original], []byte(text), 0o600))
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	require.NoError(t, err)
	overlay = filepath.Join(dir, "overlay.json")
	require.NoError(t, os.WriteFile(overlay, list, 0o600))
	return overlay
}
