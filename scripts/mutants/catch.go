package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// A catcher is a check that must catch a mutant. catch returns an error if it did not, and the explorer's result.
// String describes the check.
type catcher interface {
	catch(ctx context.Context, m *broken) (found string, err error)
	String() string
}

// A lab holds the programs and files that all mutants share.
type lab struct {
	tree
	work     string // a folder, which is removed at the end
	loadtest string // the program without a mutant
	tested   bool   // all tests pass without a mutant
	clean    sync.Map
}

func newLab(ctx context.Context, tested bool) (l *lab, err error) {
	l = &lab{tested: tested}
	if l.tree, err = findTree(ctx); err != nil {
		return nil, err
	}
	if l.work, err = os.MkdirTemp("", "mutants"); err != nil {
		return nil, err
	}
	l.loadtest = filepath.Join(l.work, "loadtest")
	_ = os.Chmod(l.work, 0o755) // MariaDB runs as a user of its own, with its files in there
	if err := l.build(ctx, "build", "./loadtest", l.loadtest); err != nil {
		l.remove()
		return nil, err
	}
	return l, nil
}

func (l *lab) remove() { _ = os.RemoveAll(l.work) }

// A broken is the code with a mutant.
type broken struct {
	*lab
	dir   string
	flags []string // of the go command
}

// try runs each check of a mutant. It returns a line per check, and whether all caught the mutant.
func (l *lab) try(ctx context.Context, one mutant) (told string, ok bool) {
	m := &broken{lab: l}
	var err error
	if m.dir, err = os.MkdirTemp(l.work, "mutant"); err == nil {
		defer func() { _ = os.RemoveAll(m.dir) }()
		m.flags, err = one.edits.write(l.tree, m.dir)
	}
	if err != nil {
		return fmt.Sprintf("MISSED: %s: %v\n", one.name, err), false
	}
	ok = true
	var lines strings.Builder
	for _, c := range one.by {
		found, err := c.catch(ctx, m)
		if err != nil {
			ok = false
			fmt.Fprintf(&lines, "MISSED: %s (%s): %v\n", one.name, c, err)
			continue
		}
		fmt.Fprintf(&lines, "caught: %s (%s%s)\n", one.name, c, found)
	}
	return lines.String(), ok
}

// A cell is a cell of the load test that ends with exit code 1: its scenario, its rung, and flags.
type cell string

func (c cell) String() string { return string(c) }

func (c cell) catch(ctx context.Context, m *broken) (string, error) {
	program, err := m.program(ctx, "./cmd/stockapi", "-trimpath", "-tags", "nomsgpack")
	if err != nil {
		return "", err
	}
	words := strings.Fields(string(c))
	args := slices.Concat([]string{"--scenarios", words[0], "--rungs"}, words[1:], []string{"--no-out"})
	var out string
	for range 2 { // exit code 2 proves nothing: the run was not measured
		if out, err = m.runWith(ctx, "LOADTEST_STOCKAPI="+program, m.root, m.loadtest, args...); exitCode(err) != 2 {
			break
		}
	}
	if exitCode(err) == 1 {
		return "", nil
	}
	return "", uncaught(err, out)
}

// A test must fail by an assertion, and pass without the mutant. It is a package, and a pattern for go test -run. A
// mutant that does not compile, panics or hangs counts as missed, except for a deadlock that synctest reports.
type test string

func (c test) String() string {
	pkg, tests, _ := strings.Cut(string(c), " ")
	return fmt.Sprintf("go test -run '%s' %s", tests, pkg)
}

var (
	failed   = regexp.MustCompile(`(?m)^ *--- FAIL: `)
	panicked = regexp.MustCompile(`(?m)^panic: .*`)
)

const (
	testTimeout = "3m" // longer than the longest wait of the code, cluster's readyWithin: it ends with an assertion
	hung        = "panic: test timed out"
	deadlocked  = "panic: deadlock: "
)

func (c test) catch(ctx context.Context, m *broken) (string, error) {
	pkg, tests, _ := strings.Cut(string(c), " ")
	args := []string{"-test.run", tests, "-test.timeout", testTimeout}
	dir := filepath.Join(m.root, pkg)
	if !m.tested {
		clean, err := m.cleanTests(ctx, pkg)
		if err != nil {
			return "", err
		}
		out, err := m.run(ctx, dir, clean, args...)
		if err != nil {
			return "", fmt.Errorf("fails without it: %w", uncaught(err, out))
		}
		if strings.Contains(out, "no tests to run") {
			return "", errors.New("there is no such test")
		}
	}
	program := filepath.Join(m.dir, "tests-"+strings.ReplaceAll(pkg, "/", "-"))
	if _, err := os.Stat(program); err != nil {
		if err := m.build(ctx, "test", pkg, program, append(m.flags, "-c")...); err != nil {
			return "", err
		}
	}
	var out string
	var err error
	for range 2 { // a test that hung has no result
		if out, err = m.run(ctx, dir, program, args...); !strings.Contains(out, hung) {
			break
		}
	}
	asserted := failed.MatchString(out)
	for _, line := range panicked.FindAllString(out, -1) {
		asserted = asserted && strings.HasPrefix(line, deadlocked)
	}
	if asserted {
		return "", nil
	}
	return "", uncaught(err, out)
}

// An explorer must find a broken verdict that should hold. It is a rung, a situation unless it is the usual one, a kind
// of fault or none, and flags.
type explorer string

func (c explorer) String() string { return "explorer: " + string(c) }

// schedules limits the search for a violation, and again the search for a shorter trace.
const schedules = "2000"

var shouldHold = regexp.MustCompile(`([a-z-]+) should hold`)

func (c explorer) catch(ctx context.Context, m *broken) (string, error) {
	program, err := m.program(ctx, "./cmd/explore")
	if err != nil {
		return "", err
	}
	spoken, more, _ := strings.Cut(string(c), " --")
	words := strings.Fields(spoken)
	rung, situation, fault := words[0], "usual", words[len(words)-1]
	if len(words) == 3 {
		situation = words[1]
	}
	path := filepath.Join(m.dir, "found.json")
	args := []string{"--rungs", rung, "--situations", situation, "--until-surprise", "--brief", "--json", path,
		"--schedules", schedules}
	if more != "" {
		args = append(args, strings.Fields("--"+more)...)
	}
	if fault != "none" {
		args = append(args, "--faults", "1", "--kinds", fault)
	}
	_ = os.Remove(path) // from the check before
	out, err := m.run(ctx, m.root, program, args...)
	if exitCode(err) != 1 {
		return "", uncaught(err, out)
	}
	var document struct {
		Cells []struct {
			Surprise   string
			Violations []struct {
				Verdict, Trace string
				After          int
			}
		}
	}
	data, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(data, &document)
	}
	if err != nil {
		return "", err
	}
	for _, cell := range document.Cells {
		wanted := shouldHold.FindStringSubmatch(cell.Surprise)
		for _, v := range cell.Violations {
			if wanted != nil && v.Verdict == wanted[1] {
				return fmt.Sprintf(": %s BROKEN after %d schedules, the shortest %s", v.Verdict, v.After, v.Trace), nil
			}
		}
	}
	return "", uncaught(nil, out)
}

// program builds a program with the mutant, once.
func (m *broken) program(ctx context.Context, pkg string, flags ...string) (path string, err error) {
	path = filepath.Join(m.dir, filepath.Base(pkg))
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	return path, m.build(ctx, "build", pkg, path, append(flags, m.flags...)...)
}

// cleanTests builds the tests of a package without a mutant, once.
func (l *lab) cleanTests(ctx context.Context, pkg string) (path string, err error) {
	build, _ := l.clean.LoadOrStore(pkg, sync.OnceValues(func() (string, error) {
		path := filepath.Join(l.work, "clean-"+strings.ReplaceAll(pkg, "/", "-"))
		return path, l.build(ctx, "test", pkg, path, "-c")
	}))
	return build.(func() (string, error))()
}

func (l *lab) build(ctx context.Context, verb, pkg, path string, flags ...string) error {
	args := append([]string{verb, "-ldflags", "-s -w", "-o", path}, flags...)
	if out, err := l.run(ctx, l.root, "go", append(args, pkg)...); err != nil {
		return fmt.Errorf("it does not build: %w", uncaught(err, out))
	}
	return nil
}

// longest bounds a command, and ending the time for it to end by itself after that.
const (
	longest = 20 * time.Minute
	ending  = 20 * time.Second
)

// run runs a command in a folder, and returns its output. It leaves no process of its group, and no temporary file
// outside of the lab.
func (l *lab) run(ctx context.Context, dir, program string, args ...string) (out string, err error) {
	return l.runWith(ctx, "TMPDIR="+l.work, dir, program, args...)
}

// runWith is run with one more variable in the environment.
func (l *lab) runWith(ctx context.Context, variable, dir, program string, args ...string) (out string, err error) {
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.WaitDelay = dir, ending
	cmd.Env = append(os.Environ(), "TMPDIR="+l.work, variable)
	inGroup(cmd)
	defer endGroup(cmd)
	data, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return string(data), err
}

// exitCode returns the exit code of a command, or -1 if it has none.
func exitCode(err error) int {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.ExitCode()
	}
	return -1
}

// uncaught returns how a command ended that did not catch a mutant, with its last lines of output.
func uncaught(err error, out string) error {
	if err == nil {
		err = errors.New("exit status 0")
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	return fmt.Errorf("%w: %s", err, strings.Join(lines[max(0, len(lines)-5):], "\n\t"))
}

// has reports whether a program or a file exists. A file may be a pattern.
func has(one string) bool {
	_, err := exec.LookPath(one)
	found, _ := filepath.Glob(one)
	return err == nil || len(found) > 0
}
