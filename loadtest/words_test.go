package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestWords compares the words in CONTRIBUTING.md with the exported names: no word may have a second sense.
func TestWords(t *testing.T) {
	exporters := glossary(t)
	files := filesOfTheModule(t)
	assert.Equal(t, exporters, exportersOf(exporters, files))

	forged, err := parser.ParseFile(token.NewFileSet(), "", "package replay; type Hold struct{}", 0)
	require.NoError(t, err)
	found := exportersOf(exporters, append(files, forged))
	assert.Equal(t, []string{"replay", "schedule"}, found["hold"], "a second sense of a word")
}

// filesOfTheModule returns all files of this module, without tests.
func filesOfTheModule(t *testing.T) (files []*ast.File) {
	t.Helper()
	for pkg := range importsOfTheModule(t) {
		paths, err := filepath.Glob(filepath.Join("..", pkg, "*.go"))
		require.NoError(t, err)
		for _, path := range paths {
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			require.NoError(t, err)
			if !strings.HasSuffix(path, "_test.go") {
				files = append(files, file)
			}
		}
	}
	return files
}

// glossary returns the words of the table, each with the packages that may export it, sorted.
func glossary(t *testing.T) map[string][]string {
	t.Helper()
	document, err := os.ReadFile("../CONTRIBUTING.md")
	require.NoError(t, err)
	_, table, found := strings.Cut(string(document), "| exported by |\n|---|---|---|\n")
	require.True(t, found, "CONTRIBUTING.md has no table of words")
	table, _, _ = strings.Cut(table, "\n\n")
	words := map[string][]string{}
	for row := range strings.Lines(table + "\n") {
		columns := strings.Split(row, "|")
		packages := strings.FieldsFunc(columns[3], func(r rune) bool { return r == ',' || r == ' ' })
		slices.Sort(packages)
		words[strings.TrimSpace(columns[1])] = packages
	}
	return words
}

// exportersOf returns the words, each with the packages that export a type or value of that name, sorted.
func exportersOf(words map[string][]string, files []*ast.File) map[string][]string {
	found := map[string][]string{}
	for word := range words {
		found[word] = []string{}
	}
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			var names []*ast.Ident
			switch n := n.(type) {
			case *ast.FuncDecl:
				return false // a verb, or a method
			case *ast.TypeSpec:
				names = []*ast.Ident{n.Name}
			case *ast.ValueSpec:
				names = n.Names
			}
			for _, name := range names {
				if word := strings.ToLower(name.Name); found[word] != nil && name.IsExported() {
					found[word] = append(found[word], file.Name.Name)
				}
			}
			return true
		})
	}
	for _, packages := range found {
		slices.Sort(packages)
	}
	return found
}
