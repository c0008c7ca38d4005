package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestNoMutantIsStale builds nothing: it checks that each old text occurs, and each test exists.
func TestNoMutantIsStale(t *testing.T) {
	t.Parallel()
	in, err := findTree(t.Context())
	require.NoError(t, err)
	testsIn := testsOf(t, in.root)
	names := map[string]bool{}
	for _, s := range table {
		assert.Contains(t, servers, s.needs)
		for _, m := range s.mutants {
			assert.False(t, names[m.name], "%s is there twice", m.name)
			names[m.name] = true
			assert.NotEmpty(t, m.by, m.name)
			_, err := m.edits.texts(in)
			assert.NoError(t, err, m.name)
			for _, c := range m.by {
				if c, is := c.(test); is {
					pkg, pattern, _ := strings.Cut(string(c), " ")
					pattern, _, _ = strings.Cut(pattern, "/")
					named := regexp.MustCompile(pattern).MatchString
					assert.True(t, slices.ContainsFunc(testsIn(pkg), named), "%s: nothing is run by %s", m.name, c)
				}
			}
		}
	}
}

// testsOf returns the names of the tests of each package. It reads each file once.
func testsOf(t *testing.T, root string) func(pkg string) []string {
	t.Helper()
	known, function := map[string][]string{}, regexp.MustCompile(`(?m)^func (Test\w+)`)
	return func(pkg string) []string {
		if known[pkg] == nil {
			files, err := filepath.Glob(filepath.Join(root, pkg, "*_test.go"))
			require.NoError(t, err)
			for _, path := range files {
				text, err := os.ReadFile(path)
				require.NoError(t, err)
				for _, f := range function.FindAllStringSubmatch(string(text), -1) {
					known[pkg] = append(known[pkg], f[1])
				}
			}
		}
		return known[pkg]
	}
}

const (
	forgedCode  = "package forged\n\nfunc sum(a, b int) int { return a + b }\n"
	forgedTests = `package forged

import "testing"

func TestSum(t *testing.T) {
	if sum(1, 2) != 3 {
		t.Fatal("a wrong sum")
	}
}

func TestThatAlwaysFails(t *testing.T) { t.Fatal() }
`
)

// TestForgedMutants tries mutants of a module of a few lines: each that is missed must be reported, with the reason.
func TestForgedMutants(t *testing.T) {
	if testing.Short() {
		t.Skip("builds programs")
	}
	if runtime.GOOS == "windows" {
		t.Skip("the load test is a shell script here")
	}
	t.Parallel()
	root := t.TempDir()
	loadtest := filepath.Join(root, "loadtest") // exits with the code that is given as the rung
	for path, text := range map[string]string{
		"go.mod": "module forged\n\ngo 1.26\n", "forged.go": forgedCode, "forged_test.go": forgedTests,
		"cmd/stockapi/main.go": "package main\n\nfunc main() {}\n",
		"loadtest":             "#!/bin/sh\nexit ${4#exit}\n",
	} {
		path = filepath.Join(root, path)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o755))
	}
	l := &lab{tree: tree{root: root}, work: t.TempDir(), loadtest: loadtest}
	for _, one := range []struct {
		by       catcher
		old, new string
		told     string
	}{
		{test(". TestSum"), "a + b", "a - b", "caught: "},
		{test(". TestSum"), "a + b", "b + a", "MISSED: .*exit status 0"},
		{test(". TestSum"), "a * b", "a - b", "MISSED: .*any more"},
		{test(". TestSum"), "a + b", "a + c", "MISSED: .*does not build"},
		{test(". TestSum"), "a + b", "[]int{}[a]", "MISSED: .*exit status 2"},
		{test(". TestNone"), "a + b", "a - b", "MISSED: .*no such test"},
		{test(". TestThatAlwaysFails"), "a + b", "a - b", "MISSED: .*fails without it"},
		{cell("scenario exit1"), "a + b", "a - b", "caught: "},
		{cell("scenario exit0"), "a + b", "a - b", "MISSED: .*exit status 0"},
		{cell("scenario exit2"), "a + b", "a - b", "MISSED: .*exit status 2"},
	} {
		told, ok := l.try(t.Context(), mutant{"forged", by{one.by}, edits{{"forged.go", one.old, one.new}}})
		assert.Regexp(t, "^"+one.told, told)
		assert.Equal(t, one.told == "caught: ", ok, "%s", told)
	}
	kept, err := os.ReadFile(filepath.Join(root, "forged.go"))
	require.NoError(t, err)
	assert.Equal(t, forgedCode, string(kept))
}

func TestWhatCannotBeTried(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"nonsense"}, {"--nonsense"}, {"--part", "3/3"}, {"--part", "1"}, {"v4", "--tested"}} {
		var out, err bytes.Buffer
		assert.Equal(t, couldNotRun, execute(t.Context(), args, &out, &err), args)
		assert.Empty(t, out.String())
		assert.NotEmpty(t, err.String())
	}
}
