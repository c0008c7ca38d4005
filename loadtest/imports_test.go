package main

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The parts of this module: two wings, and the programs above them.
const (
	programs = "The programs"
	service  = "The service"
	loadTest = "The load test"
)

func partOf(pkg string) string {
	switch {
	case strings.HasPrefix(pkg, "internal/"):
		return service
	case strings.HasPrefix(pkg, "loadtest"):
		return loadTest
	}
	return programs
}

// TestImportsRunDown holds what the whole proof rests on: the service and the load test share no code, so the judge
// cannot see into the service. It keeps the drawing in CONTRIBUTING.md true.
func TestImportsRunDown(t *testing.T) {
	imports := importsOfTheModule(t)
	layers := map[string]map[int][]string{programs: {}, service: {}, loadTest: {}}
	for _, pkg := range slices.Sorted(maps.Keys(imports)) {
		part, layer := partOf(pkg), layerOf(pkg, imports)
		layers[part][layer] = append(layers[part][layer], pkg)
		for _, below := range imports[pkg] {
			assert.True(t, part == programs || partOf(below) == part, "no arrow leaves a wing: %s imports %s", pkg, below)
			assert.False(t, pkg == "cmd/stockapi" && partOf(below) == loadTest, "the service imports %s", below)
		}
	}
	var drawing strings.Builder
	for _, part := range []string{programs, service, loadTest} {
		fmt.Fprintf(&drawing, "\n%s\n", part)
		for layer := len(layers[part]) - 1; layer >= 0; layer-- {
			fmt.Fprintln(&drawing)
			for _, pkg := range layers[part][layer] {
				drawing.WriteString(draw(pkg, imports[pkg]))
			}
		}
	}
	document, err := os.ReadFile("../CONTRIBUTING.md")
	require.NoError(t, err)
	block := "```text sample" + drawing.String() + "```\n"
	if !strings.Contains(string(document), block) {
		t.Errorf("the drawing in CONTRIBUTING.md has to be:\n%s", block)
	}
}

// layerOf returns the layer of a package in its part: one above all that it imports there, 0 at the bottom.
func layerOf(pkg string, imports map[string][]string) (layer int) {
	for _, below := range imports[pkg] {
		if partOf(below) == partOf(pkg) {
			layer = max(layer, 1+layerOf(below, imports))
		}
	}
	return layer
}

// draw returns a package's line of the drawing.
func draw(pkg string, below []string) string {
	short := strings.NewReplacer("internal/", "", "loadtest/", "")
	line := fmt.Sprintf("  %-23s%s", short.Replace(pkg), short.Replace(strings.Join(below, " ")))
	return strings.TrimRight(line, " ") + "\n"
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
