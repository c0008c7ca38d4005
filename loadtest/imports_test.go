package main

import (
	"go/ast"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestImports checks the premises of the proof: the service and the load test share no code, so that neither can see
// into the other, and the audit knows nothing but histories. Only the explorer imports both.
func TestImports(t *testing.T) {
	all := importsOfTheModule(t)
	assert.Equal(t, []string{"loadtest/history"}, all["loadtest/audit"])
	assert.Equal(t, []string{"loadtest/history"}, all["loadtest/cause"])
	assert.Equal(t, []string{"loadtest/history", "loadtest/schedule"}, all["loadtest/schedule/search"])
	rig := []string{"loadtest/cluster", "loadtest/history", "loadtest/schedule", "loadtest/wire"}
	assert.Equal(t, rig, all["loadtest/rig"])
	sale := []string{"loadtest/cause", "loadtest/history", "loadtest/schedule", "loadtest/wire"}
	assert.Equal(t, sale, all["loadtest/trial/sale"], "nothing of a trial")
	shop := []string{"loadtest/cluster", "loadtest/history", "loadtest/rig", "loadtest/wire"}
	assert.Equal(t, shop, all["loadtest/trial/shop"], "nothing of a lock")
	rooms := []string{"loadtest/trial/sale", "loadtest/trial/shop"}
	record := append([]string{"loadtest/cause", "loadtest/history", "loadtest/rig"}, append(rooms, "loadtest/wire")...)
	assert.Equal(t, record, all["loadtest/trial/record"], "nothing of how a lock is learned")
	learn := []string{"loadtest/history", "loadtest/rig", "loadtest/trial/record"}
	assert.Equal(t, append(learn, append(rooms, "loadtest/wire")...), all["loadtest/trial/learn"], "no cell")
	for pkg, imports := range all {
		assert.NotContains(t, imports, "loadtest/trial/forge", "%s is no test", pkg)
		for _, imported := range imports {
			assert.True(t, isExplorer(pkg) || isLoadTest(pkg) == isLoadTest(imported) && !isExplorer(imported),
				"%s imports %s", pkg, imported)
		}
	}
}

// TestImportsOfTheSearch checks that a search depends on nothing but what its world tells it.
func TestImportsOfTheSearch(t *testing.T) {
	for _, file := range filesOfTheModule(t) {
		for _, imported := range file.Imports {
			assert.False(t, file.Name.Name == "search" &&
				slices.Contains([]string{`"time"`, `"sync"`, `"testing"`, `"math/rand/v2"`}, imported.Path.Value),
				"search imports %s", imported.Path.Value)
		}
	}
}

// TestImportsOfInstances checks that only two packages start instances: rig, behind wires, and main, behind links.
func TestImportsOfInstances(t *testing.T) {
	starts, starters := []string{"StartInstance", "StartForeign"}, map[string]bool{}
	for _, file := range filesOfTheModule(t) {
		ast.Inspect(file, func(n ast.Node) bool {
			if call, is := n.(*ast.SelectorExpr); is && slices.Contains(starts, call.Sel.Name) {
				starters[file.Name.Name] = true
			}
			return true
		})
	}
	assert.ElementsMatch(t, []string{"rig", "main"}, slices.Collect(maps.Keys(starters)))
	assert.NotContains(t, importsOfTheModule(t)["loadtest/wire"], "loadtest/cluster", "a wire starts nothing")
}

// TestTimelineIsMadeOnce checks that a verdict and its cause share a timeline: the code that has recorded or read a
// cell makes it once, and passes it to both. A trial also makes those of the instants at which it ended the lock.
func TestTimelineIsMadeOnce(t *testing.T) {
	var makers []string
	for _, file := range filesOfTheModule(t) {
		for _, d := range file.Decls {
			ast.Inspect(d, func(n ast.Node) bool {
				if call, is := n.(*ast.SelectorExpr); is && call.Sel.Name == "TimelineOf" {
					makers = append(makers, file.Name.Name+" "+d.(*ast.FuncDecl).Name.Name)
				}
				return true
			})
		}
	}
	assert.ElementsMatch(t, []string{"main judgeAnswers", "main rejudge", "scenario Play", "stage judgeSoFar",
		"record Complete", "record assignEnds", "trial recount", "drawing Of", "explore noteEnds"}, makers)
}

// TestSizeOfPackages checks that a newcomer can read each package of the load test at a stretch. -v prints the sizes.
func TestSizeOfPackages(t *testing.T) {
	const most = 2800 // lines of code, without tests
	for pkg := range importsOfTheModule(t) {
		if isLoadTest(pkg) {
			lines := linesOfCode(t, pkg)
			t.Logf("%5d %s", lines, pkg)
			assert.LessOrEqual(t, lines, most, pkg)
		}
	}
}

// linesOfCode counts the lines of a package that are neither empty nor all comment, for all systems, without tests.
func linesOfCode(t *testing.T, pkg string) (lines int) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("..", pkg, "*.go"))
	require.NoError(t, err)
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		for line := range strings.Lines(string(text)) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "//") {
				lines++
			}
		}
	}
	return lines
}

func isExplorer(pkg string) bool { return strings.HasSuffix(pkg, "/explore") }

func isLoadTest(pkg string) bool { return strings.HasPrefix(pkg, "loadtest") }

// importsOfTheModule returns the packages of this module, each with its imports from the module, without those of
// tests.
func importsOfTheModule(t *testing.T) map[string][]string {
	t.Helper()
	cmd := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`,
		"./cmd/...", "./internal/...", "./loadtest/...")
	cmd.Dir = ".."
	out, err := cmd.Output()
	require.NoError(t, err)
	imports := map[string][]string{}
	for line := range strings.Lines(string(out)) {
		var ours []string
		for _, path := range strings.Fields(line) {
			if pkg, found := strings.CutPrefix(path, "stockapi/"); found {
				ours = append(ours, pkg)
			}
		}
		imports[ours[0]] = ours[1:]
	}
	return imports
}
