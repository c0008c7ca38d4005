package cause

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// fired are the rows that apply to a forged history, shown the plain sales that are its defect, and named the causes of
// defects.
var (
	fired = map[*row]bool{}
	shown = map[*plainSale]bool{}
	named = map[string]bool{}
)

// surprises are the forged histories in which other rows count than those of their causes.
var surprises []string

// TestMain also checks, after all tests, that in each forged history only the rows of its causes count and, if all ran,
// that one shows each row, each defect of plain sales, and the causes that no table has.
func TestMain(m *testing.M) {
	flag.Parse()
	code := m.Run()
	for _, text := range surprises {
		fmt.Println("--- FAIL:", text) // as of a test, for scripts/mutants
		code = max(code, 1)
	}
	for _, name := range []string{"test.run", "test.skip", "test.list"} {
		if flag.Lookup(name).Value.String() != "" {
			os.Exit(code)
		}
	}
	for i := range rows {
		if !fired[&rows[i]] {
			fmt.Printf("FAIL: no forged history shows row %d: %s\n", i, rows[i].what)
			code = max(code, 1)
		}
	}
	for i := range plainSales {
		if !shown[&plainSales[i]] {
			fmt.Printf("FAIL: no forged history shows plain sale %d: %s\n", i, plainSales[i].what)
			code = max(code, 1)
		}
	}
	for _, c := range []cause{crashed, longLease, unknown} {
		if !named[c.what] {
			fmt.Printf("FAIL: no forged history has the defect: %s\n", c.what)
			code = max(code, 1)
		}
	}
	os.Exit(code)
}

// Causes, and what a cell needs to mean something, come from courses and the kinds of faults: no code of the package
// reads traces, or knows which order is which, or which cell. A test of package trial looks for the cells' names.
func TestCausesComeFromTable(t *testing.T) {
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	named := regexp.MustCompile(`(?i)anna|bert`)
	for _, path := range files {
		assert.NotContains(t, []string{"order.go", "removal.go", "loss.go", "stuck.go", "remark.go", "premise.go"}, path)
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				assert.NotContains(t, []string{"Trace", "Scenario", "Line"}, n.Sel.Name, path)
			case *ast.RangeStmt: // only a course walks its commands
				of, is := n.X.(*ast.SelectorExpr)
				assert.False(t, is && of.Sel.Name == "Events", path)
			case *ast.Ident:
				assert.NotRegexp(t, named, n.Name, path)
				assert.NotContains(t, []string{"byDesign", "because", "ofFault", "like", "premises"}, n.Name, path)
			case *ast.BasicLit:
				assert.NotRegexp(t, named, n.Value, path)
			}
			return true
		})
	}
}
