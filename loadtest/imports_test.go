package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// houses are the parts of this module. The first two do not import each other; the last one may import packages of
// both. The layers of each go from top to bottom: a package imports packages of the layers below its own, and none of
// its own layer.
var houses = []struct {
	name   string
	layers [][]string
}{
	{"The service", [][]string{
		{"cmd/stockapi"},
		{"internal/handlers"},
		{"internal/sale", "internal/fault"},
		{"internal/narrate"},
		{"internal/lock"},
		{"internal/stock", "internal/trace", "internal/backend/backendtest"},
		{"internal/backend/sqldb"},
		{"internal/backend"},
	}},
	{"The load test", [][]string{
		{"loadtest"},
		{"loadtest/run", "loadtest/replay", "loadtest/report"},
		{"loadtest/scenario", "loadtest/report/html", "loadtest/report/porcupine"},
		{"loadtest/cluster", "loadtest/report/terminal"},
		{"loadtest/catalog", "loadtest/audit", "loadtest/load", "loadtest/client"},
		{
			"loadtest/history", "loadtest/schedule",
			"loadtest/contract", "loadtest/contract/contracttest", "loadtest/report/terminal/terminaltest",
		},
		{"loadtest/plain"},
	}},
	{explorer, [][]string{
		{"cmd/explore"},
		{"internal/explore"},
	}},
}

// explorer is the part that runs the service's locks, and draws what it found as the load test does.
const explorer = "The explorer, which stands on both"

// rootFiles are the files of this package, from top to bottom. A file uses what stands in files after it.
var rootFiles = []string{
	"main.go", "flags.go", "guardian.go", "contract.go", "list.go", "replay.go", "replay_flags.go",
	"report.go", "audit.go", "answers.go", "run.go", "run_flags.go", "exit.go", "environment.go", "version.go", "build.go",
	"doc.go",
}

// TestImportsRunDown keeps every import of this module running from a layer to one below it. CONTRIBUTING.md has the
// drawing.
func TestImportsRunDown(t *testing.T) {
	imports := importsOfTheModule(t)
	var drawing strings.Builder
	lower := map[string]int{} // the packages of the parts before, all below the explorer
	for _, h := range houses {
		fmt.Fprintf(&drawing, "\n%s\n", h.name)
		height := map[string]int{}
		if h.name == explorer {
			height = lower
		}
		for i, row := range h.layers {
			for _, pkg := range row {
				lower[pkg] = 0
				height[pkg] = len(h.layers) - i
			}
		}
		for _, row := range h.layers {
			fmt.Fprintln(&drawing)
			for _, pkg := range row {
				below, there := imports[pkg]
				assert.True(t, there, "%s is in a layer, and there is no such package", pkg)
				for _, b := range below {
					assert.Contains(t, height, b, "%s imports %s, which is in no layer of %s", pkg, b, h.name)
					assert.Less(t, height[b], height[pkg], "%s imports %s, which is not below it", pkg, b)
				}
				drawing.WriteString(drawn(pkg, below))
				delete(imports, pkg)
			}
		}
	}
	assert.Empty(t, imports, "these packages are in no layer: name them in houses")
	document, err := os.ReadFile("../CONTRIBUTING.md")
	require.NoError(t, err)
	block := "```text sample" + drawing.String() + "```\n"
	if !strings.Contains(string(document), block) {
		t.Errorf("the drawing in CONTRIBUTING.md has to be:\n%s", block)
	}
}

// drawn returns a package's line of the drawing.
func drawn(pkg string, below []string) string {
	line := fmt.Sprintf("  %s: %s", pkg, strings.Join(below, " "))
	line = strings.NewReplacer("internal/", "", "loadtest/", "").Replace(line)
	pkg, rest, _ := strings.Cut(line, ":")
	return strings.TrimRight(fmt.Sprintf("%-24s%s", pkg, rest), " ") + "\n"
}

// importsOfTheModule returns the packages of this module, each with those that it imports. Tests do not count.
func importsOfTheModule(t *testing.T) map[string][]string {
	t.Helper()
	cmd := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`,
		"./cmd/...", "./internal/...", "./loadtest/...")
	cmd.Dir = ".."
	out, err := cmd.Output()
	require.NoError(t, err)
	imports := map[string][]string{}
	for line := range strings.Lines(string(out)) {
		paths := strings.Fields(line)
		var ours []string
		for _, path := range paths {
			if pkg, found := strings.CutPrefix(path, "stockapi/"); found {
				ours = append(ours, pkg)
			}
		}
		imports[ours[0]] = ours[1:]
	}
	return imports
}

// TestFilesOfTheRootRunDown keeps a file of this package from using what stands in a file above it. It looks at
// functions, types, variables and constants, not at methods.
func TestFilesOfTheRootRunDown(t *testing.T) {
	set := token.NewFileSet()
	declared, files := map[string]int{}, make([]*ast.File, len(rootFiles))
	for i, name := range rootFiles {
		file, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		files[i] = file
		for _, decl := range file.Decls {
			for _, name := range namesOf(decl) {
				declared[name] = i
			}
		}
	}
	for i, file := range files {
		for _, decl := range file.Decls {
			for _, name := range usedIn(decl) {
				if at, found := declared[name]; found && at < i {
					t.Errorf("%s uses %s of %s", rootFiles[i], name, rootFiles[at])
				}
			}
		}
	}
	all, err := filepath.Glob("*.go")
	require.NoError(t, err)
	all = slices.DeleteFunc(all, func(name string) bool { return strings.HasSuffix(name, "_test.go") })
	assert.ElementsMatch(t, rootFiles, all)
}

// namesOf returns the names that a declaration gives to the package: none if it is a method.
func namesOf(decl ast.Decl) (names []string) {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			names = append(names, d.Name.Name)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				names = append(names, s.Name.Name)
			case *ast.ValueSpec:
				for _, name := range s.Names {
					names = append(names, name.Name)
				}
			}
		}
	}
	return names
}

// usedIn returns the names in a declaration, without those on either side of a dot.
func usedIn(decl ast.Decl) (names []string) {
	ast.Inspect(decl, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			_, simple := n.X.(*ast.Ident)
			return !simple
		case *ast.Ident:
			names = append(names, n.Name)
		}
		return true
	})
	return names
}
