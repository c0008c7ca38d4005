package main

import (
	"bytes"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A tempDir is a directory for the temporary files of one test. Nothing must be left in it at the end. The processes
// that use it belong to this test, so that tests that look for processes can run side by side.
type tempDir string

func ownTemp(t *testing.T) tempDir {
	t.Helper()
	tmp := t.TempDir()
	require.NoError(t, os.Chmod(filepath.Dir(tmp), 0o711)) // for servers that do not run as root
	return tempDir(tmp)
}

// useHere makes this process use the directory too. A test that calls it cannot run side by side with others.
func (d tempDir) useHere(t *testing.T) {
	t.Helper()
	t.Setenv("TMPDIR", string(d))
	t.Setenv("TMP", string(d))
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

// measured is loadtest, until all cells are measurements.
func (d tempDir) measured(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	return untilMeasured(t, d.loadtest, args...)
}

// left returns the files in the directory, and the processes that use it.
func (d tempDir) left(t *testing.T) []string {
	t.Helper()
	entries, err := filepath.Glob(filepath.Join(string(d), "*"))
	require.NoError(t, err)
	return slices.AppendSeq(entries, maps.Values(d.processes()))
}

// processes returns the command lines of those that were told to keep their temporary files in the directory, or that
// do: it finds the children of a process that is no more, whoever their parent is by now. A redis-server writes its
// title over its environment, and is known by where it is.
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

// kill kills the processes whose command line contains the text, all at one moment.
func (d tempDir) kill(text string) {
	for pid, line := range d.processes() {
		if p, err := os.FindProcess(pid); err == nil && pid != os.Getpid() && strings.Contains(line, text) {
			_ = p.Kill()
		}
	}
}

func needsProc(t *testing.T) {
	t.Helper()
	if _, err := os.Stat("/proc/self/environ"); err != nil {
		t.Skip("this system does not tell which processes there are")
	}
}
