//go:build ignore

// Results puts lines of a real run into docs/results.md: the end of the run, the crowd over two instances, and the
// stories that the document tells.
//
//	go run ./loadtest all --out out && go run scripts/results.go out
package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

const document = "docs/results.md"

func main() {
	if err := rewrite(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "results:", err)
		os.Exit(1)
	}
}

func rewrite(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("name the directory that loadtest --out wrote")
	}
	brief, whole, err := audited(args[0])
	if err != nil {
		return err
	}
	text, err := os.ReadFile(document)
	if err != nil {
		return err
	}
	samples := []func(old []string) ([]string, error){
		func([]string) ([]string, error) { return brief[1+slices.Index(brief, ""):], nil }, // below the header
		func([]string) ([]string, error) { return block(whole, "two-instances: ", "  rung ") },
		func(old []string) ([]string, error) { return stories(old, whole) },
	}
	const begin, end = "```text sample\n", "```\n"
	parts := strings.Split(string(text), begin)
	if len(parts) != 1+len(samples) {
		return fmt.Errorf("%s has %d samples, not %d", document, len(parts)-1, len(samples))
	}
	for i, sample := range samples {
		old, rest, _ := strings.Cut(parts[i+1], end)
		lines, err := sample(strings.Split(strings.TrimSuffix(old, "\n"), "\n"))
		if err != nil {
			return err
		}
		parts[i+1] = strings.Join(lines, "\n") + "\n" + end + rest
	}
	return os.WriteFile(document, []byte(strings.Join(parts, begin)), 0o644)
}

// audited returns what loadtest prints of the run, in short and with --verbose. All of it has to be as expected.
func audited(dir string) (brief, whole []string, err error) {
	temp, err := os.MkdirTemp("", "results-")
	if err != nil {
		return nil, nil, err
	}
	defer os.RemoveAll(temp)
	program := filepath.Join(temp, "loadtest")
	if out, err := exec.Command("go", "build", "-o", program, "./loadtest").CombinedOutput(); err != nil {
		return nil, nil, fmt.Errorf("%w: %s", err, out)
	}
	lines := func(args ...string) ([]string, error) {
		cmd := exec.Command(program, append([]string{"audit", filepath.Base(dir)}, args...)...)
		cmd.Dir, cmd.Stderr = filepath.Dir(dir), os.Stderr // so that its lines name no folder of this machine
		out, err := cmd.Output()
		return strings.Split(strings.TrimSpace(string(out)), "\n"), err
	}
	if brief, err = lines(); err == nil {
		whole, err = lines("--verbose")
	}
	return brief, whole, err
}

// block returns the lines up to a blank one, of the last block that begins so and whose second line does too.
func block(lines []string, begins, second string) ([]string, error) {
	for i := len(lines) - 2; i >= 0; i-- {
		if strings.HasPrefix(lines[i], begins) && strings.HasPrefix(lines[i+1], second) {
			end := slices.Index(lines[i:], "")
			return lines[i : i+end], nil
		}
	}
	return nil, fmt.Errorf("the run has no table %q", begins)
}

// stories returns the stories of the run for the cells of those that the document has.
func stories(old, lines []string) (out []string, err error) {
	for _, line := range old {
		cell, _, first := strings.Cut(line, ": ")
		if !first || strings.HasPrefix(line, " ") {
			continue // the second line of a story
		}
		at := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, cell+": ") })
		if at < 0 {
			return nil, fmt.Errorf("the run tells no story of %s", cell)
		}
		out = append(out, lines[at])
		for at++; strings.HasPrefix(lines[at], "    "); at++ {
			out = append(out, lines[at])
		}
	}
	return out, nil
}
