package main

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"stockapi/internal/backend/backendtest"
	"stockapi/loadtest/cluster"
)

// TestMain lets this test binary act as loadtest, too: runs start it as their guardian, and tests start and kill it.
func TestMain(m *testing.M) {
	defaultOut = ""
	cluster.GuardMain()
	switch {
	case os.Getenv("LOADTEST_TEST_MAIN") != "":
		os.Exit(withoutLeaks(execute(context.Background(), os.Args[1:], os.Stdout, os.Stderr)))
	default:
		// Mostly tests wait for a lease or a timeout. With the race detector loadtest is so slow that leases would expire.
		processors := runtime.GOMAXPROCS(0)
		backendtest.AtOnce(2*processors, max(1, processors/2))
		// With the race detector each process that the tests start would sleep for a second before it exits.
		_ = os.Setenv("GORACE", os.Getenv("GORACE")+" atexit_sleep_ms=0")
		_ = os.Setenv("LOADTEST_STOCKAPI", "go") // any program; tests that start the service build it: see stockapi
		builtIn, _ = os.MkdirTemp("", "loadtest-test-")
		code := m.Run()
		if n := slowRuns.Load(); n > 0 {
			fmt.Printf("the machine was too slow for %d runs, which were repeated\n", n)
		}
		if code == 0 {
			code = withoutLeaks(code)
		}
		_ = os.RemoveAll(builtIn)
		os.Exit(code)
	}
}

// leaked is the exit code of a process that leaves goroutines behind.
const leaked = 70

// withoutLeaks returns the exit code, or leaked if goroutines are left behind.
func withoutLeaks(code int) int {
	err := goleak.Find()
	for tries := 1; err != nil && tries < 5; tries++ {
		err = goleak.Find()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return leaked
	}
	return code
}

// A program runs loadtest with arguments.
type program func(t *testing.T, args ...string) (code int, stdout, stderr string)

// loadtest runs the program in this process.
func loadtest(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = execute(t.Context(), args, &out, &errs)
	return code, out.String(), errs.String()
}

// slowRuns counts the runs for which the machine was too slow. TestMain prints it.
var slowRuns atomic.Int64

// retry calls measure up to ten times, until it returns true.
func retry(measure func() bool) {
	for n := 0; n < 10 && !measure(); n++ {
		slowRuns.Add(1)
	}
}

// untilMeasured runs the program again while the machine was too slow for a cell. It removes the mark of longer leases
// from the matrix.
func untilMeasured(t *testing.T, run program, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	retry(func() bool {
		code, stdout, stderr = run(t, args...)
		return !tooSlow(code, stdout)
	})
	return code, longerLease.ReplaceAllString(stdout, "$1$2"), stderr
}

var longerLease = regexp.MustCompile(`(?m)(\w)~( |$)`)

// notValid matches the last line of a run with invalid cells and no surprise.
var notValid = regexp.MustCompile(`no surprises, but not everything was measured[^:]*\d not\s+valid`)

// tooSlow reports whether a run failed only because the machine was too slow for a cell.
func tooSlow(code int, output string) bool {
	return code == couldNotRun && notValid.MatchString(output)
}

// A tempDir is a directory for the temporary files of one test, empty at its end. The processes that use it belong to
// the test, so that tests that look for processes can run side by side.
type tempDir string

func ownTemp(t *testing.T) tempDir {
	t.Helper()
	tmp := t.TempDir()
	require.NoError(t, os.Chmod(filepath.Dir(tmp), 0o711)) // for servers that do not run as root
	return tempDir(tmp)
}

// command returns the program as a process of its own, which uses the directory.
func (d tempDir) command(args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...) // see TestMain
	cmd.Env = append(os.Environ(), "LOADTEST_TEST_MAIN=1", "TMPDIR="+string(d), "TMP="+string(d))
	return cmd
}

// loadtest runs the program in a process of its own.
func (d tempDir) loadtest(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	cmd := d.command(args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		var exit *exec.ExitError
		assert.ErrorAs(t, err, &exit)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

// left returns the files in the directory, and the processes that use it.
func (d tempDir) left(t *testing.T) []string {
	t.Helper()
	entries, err := filepath.Glob(filepath.Join(string(d), "*"))
	require.NoError(t, err)
	return slices.AppendSeq(entries, maps.Values(d.processes()))
}

// processes returns the command lines of the processes whose TMPDIR is the directory, or which run in it. It also finds
// orphans. A redis-server overwrites its environment with its title, and is found by its working directory.
func (d tempDir) processes() map[int]string {
	directories, _ := filepath.Glob("/proc/[0-9]*")
	found := map[int]string{}
	for _, dir := range directories {
		environment, _ := os.ReadFile(filepath.Join(dir, "environ"))
		where, _ := os.Readlink(filepath.Join(dir, "cwd"))
		if strings.Contains(string(environment), "TMPDIR="+string(d)) || strings.HasPrefix(where, string(d)) {
			line, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
			pid, _ := strconv.Atoi(filepath.Base(dir))
			found[pid] = strings.ReplaceAll(string(line), "\x00", " ")
		}
	}
	return found
}

// kill kills the processes whose command line contains the text, all at once.
func (d tempDir) kill(text string) {
	for pid, line := range d.processes() {
		if p, err := os.FindProcess(pid); err == nil && pid != os.Getpid() && strings.Contains(line, text) {
			_ = p.Kill()
		}
	}
}

// builtIn is the directory of the programs under test.
var builtIn string

// builder returns a function that builds a program of cmd/, once, and returns its path.
func builder(name string) func() (path string, err error) {
	return sync.OnceValues(func() (string, error) {
		path := filepath.Join(builtIn, name)
		if runtime.GOOS == "windows" {
			path += ".exe"
		}
		// Debug information takes most of the time to link.
		out, err := exec.Command("go", "build", "-ldflags", "-s -w", "-o", path, "stockapi/cmd/"+name).CombinedOutput()
		if err != nil {
			err = fmt.Errorf("%w: %s", err, out)
		}
		return path, err
	})
}

var buildStockapi, buildExplorer = builder("stockapi"), builder("explore")

// stockapi returns the path of the real service. From then on every run uses it.
func stockapi(t *testing.T) string {
	t.Helper()
	backendtest.Long(t)
	path, err := buildStockapi()
	require.NoError(t, err)
	require.NoError(t, os.Setenv("LOADTEST_STOCKAPI", path)) //nolint:usetesting // for later tests, too
	return path
}

// need skips a test if a program is missing, or fails it if STOCKAPI_REQUIRE names the program.
func need(t *testing.T, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err == nil {
		return
	}
	if slices.Contains(strings.Split(os.Getenv("STOCKAPI_REQUIRE"), ","), program) {
		t.Fatalf("%s is not on PATH, and STOCKAPI_REQUIRE asks for it", program)
	}
	t.Skipf("no %s on PATH", program)
}
