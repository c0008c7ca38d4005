//go:build unix

package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"stockapi/loadtest/scenario"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// documents returns the documents for readers.
func documents(t *testing.T) []string {
	t.Helper()
	docs, err := filepath.Glob("../docs/*.md")
	require.NoError(t, err)
	return append(docs, "../WORKSHOP.md", "../README.md", "../CONTRIBUTING.md")
}

// TestDocuments runs every command of the documents, each part at a desk of its own, and checks the output that the
// text promises.
func TestDocuments(t *testing.T) {
	t.Parallel()
	var all sync.WaitGroup
	for _, path := range documents(t) {
		all.Go(func() {
			t.Run(filepath.Base(path), func(t *testing.T) {
				_, parts := readDocument(t, path)
				doParts(t, parts)
			})
		})
	}
	all.Wait()
}

// workshopInChinese is WORKSHOP.md in Chinese. TestDocuments skips it: its blocks are the same.
const workshopInChinese = "../WORKSHOP.zh.md"

// TestWorkshopInChinese compares the headings and blocks of both.
func TestWorkshopInChinese(t *testing.T) {
	assert.Equal(t, skeleton(t, "../WORKSHOP.md"), skeleton(t, workshopInChinese))
}

// skeleton returns the blocks of a document, and the levels of its headings.
func skeleton(t *testing.T, path string) (lines []string) {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	within := false
	for line := range strings.Lines(string(data)) {
		level, _, heading := strings.Cut(line, "# ")
		fence := strings.HasPrefix(line, "```")
		switch {
		case within || fence:
			lines = append(lines, line)
		case heading && strings.Trim(level, "#") == "":
			lines = append(lines, level)
		}
		within = within != fence
	}
	return lines
}

// texts is the document whose rows each name a load test.
const texts = "../docs/texts.md"

// TestTexts checks that the load tests of docs/texts.md select cells of the table: `go run ./loadtest all` runs all of
// these, and requires their expectations.
func TestTexts(t *testing.T) {
	document, _ := readDocument(t, texts)
	commands := loadTestsIn(document)
	require.Greater(t, len(commands), 30)
	for _, command := range commands {
		c, _, err := parse(strings.Fields(command)[3:], io.Discard, io.Discard)
		require.NoError(t, err, command)
		_, err = scenario.Table.Select(c.Run.Scenarios, c.Run.Rungs, c.Run.Instances, 1)
		assert.NoError(t, err, command)
	}
}

// loadTestsIn returns the load tests in the text, each once.
func loadTestsIn(document string) []string {
	commands := slices.DeleteFunc(commandsIn(document), func(command string) bool {
		return !strings.HasPrefix(command, "go run ./loadtest --")
	})
	slices.Sort(commands)
	return slices.Compact(commands)
}

// TestDocumentCommandsAreRun checks the commands that TestDocuments does not run: those of blocks with the word
// elsewhere, and those in the text.
func TestDocumentCommandsAreRun(t *testing.T) {
	others := elsewhere(t)
	var run strings.Builder
	for _, path := range documents(t) {
		document, parts := readDocument(t, path)
		if path == texts {
			run.WriteString(strings.Join(loadTestsIn(document), "\n"))
		}
		for _, p := range parts {
			for _, b := range p.blocks {
				run.WriteString(b.script)
				if b.other {
					assert.NoError(t, others.runAll(b.script), "%s:%d", path, b.line)
				}
			}
		}
	}
	for _, path := range append(documents(t), workshopInChinese) {
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		document := string(data)
		for _, command := range commandsIn(document) {
			if !strings.Contains(run.String(), command) {
				assert.NoError(t, others.runs(command), path)
			}
		}
		for _, link := range links.FindAllStringSubmatch(document, -1) {
			_, err := os.Stat(filepath.Join(filepath.Dir(path), link[1]))
			assert.NoError(t, err, path)
		}
	}
	assert.Error(t, others.runs("go run ./loadtest --bogus"))
	assert.Error(t, others.runs("go run ./loadtest stage --bogus"))
	assert.Error(t, others.runs("go run ./loadtest try --quick -- python3 examples/bogus.py"))
	assert.Error(t, others.runs("go test -run NoSuchTest ./loadtest"))
	assert.Error(t, others.runs("make bogus"))
	assert.Error(t, others.runs(`go run ./scripts/mutants "bogus"`))
}

// links are those to files of this repository.
var links = regexp.MustCompile(`\]\(([^):#]+)\)`)

// commandsIn returns the commands between backticks in the text.
func commandsIn(document string) (found []string) {
	for i, span := range strings.Split(document, "`") {
		for _, command := range []string{"go run ", "go test ", "make ", "curl ", "scripts/", "docker-compose "} {
			if i%2 == 1 && strings.HasPrefix(span, command) && !strings.HasSuffix(span, "\n") {
				found = append(found, span)
			}
		}
	}
	return found
}

// mutants is the command that tries a mutant.
const mutants = "go run ./scripts/mutants "

// runElsewhere knows the commands that something other than TestDocuments runs: a script, CI, or a test of this module.
type runElsewhere struct {
	scripts string // the texts of scripts, CI, docker-compose.yml, WORKSHOP.md and the Makefile
	make    string // the Makefile
	shops   string // the test of package trial that tries shops
}

func elsewhere(t *testing.T) (e runElsewhere) {
	t.Helper()
	for _, root := range []string{"../scripts", "../.ci/run", "../docker-compose.yml", "../WORKSHOP.md"} {
		require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			data, err := os.ReadFile(path)
			e.scripts += string(data)
			return err
		}))
	}
	data, err := os.ReadFile("../Makefile")
	require.NoError(t, err)
	e.make = string(data)
	data, err = os.ReadFile("trial/shops_test.go")
	require.NoError(t, err)
	e.shops = string(data)
	e.scripts += strings.ReplaceAll(e.make, "$(GO)", "go")
	return e
}

func (e runElsewhere) runAll(script string) error {
	var errs []error
	for line := range strings.Lines(script) {
		errs = append(errs, e.runs(line))
	}
	return errors.Join(errs...)
}

// runs returns an error unless something runs the command: a script has it verbatim, the Makefile has its target, or
// its tests exist.
func (e runElsewhere) runs(command string) error {
	command, _, _ = strings.Cut(command, "#")
	command = strings.TrimSpace(command)
	words := strings.Fields(command)
	switch {
	case command == "" || strings.Contains(e.scripts, command):
		return nil
	case words[0] == "make":
		if regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(words[1]) + `:`).MatchString(e.make) {
			return nil
		}
	case strings.HasPrefix(command, mutants):
		if name := strings.Trim(strings.TrimPrefix(command, mutants), `"`); strings.Contains(e.scripts, name) {
			return nil
		}
	case strings.HasPrefix(command, "go run ./loadtest stage"): // runs until Ctrl-C, and has tests of its own
		_, _, err := parse(words[3:], io.Discard, io.Discard)
		return err
	case strings.HasPrefix(command, "go run ./loadtest try --quick "):
		if shop := words[len(words)-1]; strings.Contains(e.shops, `{file: "../../`+shop+`"}`) {
			return nil
		}
	case strings.HasPrefix(words[0], "scripts/"):
		_, err := os.Stat(filepath.Join("..", words[0]))
		return err
	case strings.HasPrefix(command, "go test "):
		return testsNamed(words)
	}
	return fmt.Errorf("nothing runs %q", command)
}

// testsNamed returns an error unless a `go test -run PATTERN PACKAGE`, in any order, runs at least one test, or with
// -bench a benchmark.
func testsNamed(words []string) error {
	i, kind := slices.Index(words, "-bench"), "Benchmark"
	if i < 0 {
		i, kind = slices.Index(words, "-run"), "Test"
	}
	pkg := slices.IndexFunc(words, func(w string) bool { return strings.HasPrefix(w, "./") })
	if i < 0 && slices.Contains(words, "./...") {
		return nil // it runs all of them
	}
	if i < 0 || pkg < 0 {
		return fmt.Errorf("%q names no test", words)
	}
	pattern, err := regexp.Compile(strings.Trim(words[i+1], "'"))
	if err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join("..", words[pkg], "*_test.go"))
	if err != nil {
		return err
	}
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, f := range regexp.MustCompile(`(?m)^func (`+kind+`\w+)`).FindAllStringSubmatch(string(data), -1) {
			if pattern.MatchString(f[1]) {
				return nil
			}
		}
	}
	return fmt.Errorf("%q runs no test", words)
}
