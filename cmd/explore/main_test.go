package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/cmd/explore/explore"
	"stockapi/internal/backend"
	"stockapi/internal/backend/backendtest"
	"stockapi/loadtest/report/terminal"
	"stockapi/loadtest/schedule"
)

// TestMain sets the garbage collector as main does.
func TestMain(m *testing.M) {
	backend.Silence()
	debug.SetGCPercent(800)
	os.Exit(m.Run())
}

// runWithin runs the program within a test.
func runWithin(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = execute(t.Context(), args, &out, &errs, func(do func(*testing.T) int) int { return do(t) })
	return code, out.String(), errs.String()
}

func TestRungIsExplored(t *testing.T) {
	code, out, errs := runWithin(t, "--rungs", "v0,v4")
	assert.Equal(t, asExpected, code)
	assert.Empty(t, errs)
	assert.Contains(t, out, "stock BROKEN")
	assert.Contains(t, out, "0 faults, 2 switches, 4 steps: v0:abba")
	assert.Contains(t, out, "Bert sold unit 1 at step 3; Anna sold unit 1 again at step 4")
	assert.Contains(t, out, "no violation within these bounds")
	assert.Contains(t, out, "as expected (2 of 2 cells)")
}

// No line is wider than the page.
func TestStepsAreInColumns(t *testing.T) {
	t.Parallel()
	trace, err := schedule.ParseTrace("v7:aa.hold-a.bbba")
	assert.NoError(t, err)
	story, err := explore.Replay(t, trace, explore.DefaultBounds())
	assert.NoError(t, err)
	for _, width := range []int{0, 100} {
		var out bytes.Buffer
		p := printer{Printer: terminal.Printer{Writer: &out, Width: width}}
		p.story(story)
		assert.Regexp(t, `(?m)^ +step +a +b +held in Redis +time$`, out.String())
		assert.Regexp(t, `(?m)^ +3 +is held, time( passes)? +lock: free  stock: 1 +\+2.001s$`, out.String())
		for line := range strings.Lines(out.String()) {
			assert.LessOrEqual(t, len([]rune(line)), p.width()+1, line)
		}
	}
}

// What an interrupted run has printed stays.
func TestInterruptedRunPrintsItsProgress(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, errs bytes.Buffer
	path := filepath.Join(t.TempDir(), "found.json")
	code := execute(ctx, []string{"--rungs", "v0,v4", "--json", path}, &out, &errs,
		func(do func(*testing.T) int) int { return do(t) })
	assert.Equal(t, couldNotRun, code)
	assert.Equal(t, "explore: interrupted after 0 of 2 cells\n", errs.String())
	assert.Contains(t, out.String(), "bounds: 2 clients")
	text, err := os.ReadFile(path)
	assert.NoError(t, err)
	assert.Contains(t, string(text), `"interrupted": true`)
}

func TestJSONHoldsTheResults(t *testing.T) {
	path := filepath.Join(t.TempDir(), "found.json")
	code, _, errs := runWithin(t, "--rungs", "v0,v4", "--json", path)
	assert.Equal(t, asExpected, code, errs)
	text, err := os.ReadFile(path)
	assert.NoError(t, err)
	assert.Contains(t, string(text), `"trace": "v0:abba"`)
	assert.Contains(t, string(text), `"exhausted": true`)
	code, _, errs = runWithin(t, "--rungs", "v0", "--json", t.TempDir())
	assert.Equal(t, couldNotRun, code)
	assert.Contains(t, errs, "name a file that can be written")
}

func TestReplayOfATrace(t *testing.T) {
	code, out, errs := runWithin(t, "--replay", "v0:abba")
	assert.Equal(t, asExpected, code)
	assert.Empty(t, errs)
	assert.Contains(t, out, "b: sold unit 1")
	assert.Contains(t, out, "stock BROKEN after 4 steps: Bert sold unit 1 at step 3; Anna sold unit 1 again at step 4")
	assert.Contains(t, out, "\non real processes, as a page: go run ./loadtest replay v0:abba --out ")
}

// A trace that real processes can replay is printed with the command to do so.
func TestCommandForAPage(t *testing.T) {
	for args, want := range map[string]string{
		"--rungs v0":         "      on real processes, as a page: go run ./loadtest replay v0:abba --out out/replay\n",
		"--rungs v0 --brief": "",
		"--rungs v4 --faults 1 --kinds clock-jump":     "",
		"--rungs v9-naive --situations two-products":   "",
		"--rungs v4 --faults 1 --kinds expiry --brief": "",
	} {
		code, out, errs := runWithin(t, strings.Fields(args)...)
		require.Equal(t, asExpected, code, errs)
		assert.Contains(t, out, " BROKEN\n", args)
		assert.Contains(t, out, want, args)
		assert.Equal(t, want != "", strings.Contains(out, "loadtest replay"), args)
	}
}

// Same bounds, same output, to the byte.
func TestOutputIsDeterministic(t *testing.T) {
	backendtest.Long(t)
	t.Parallel()
	args := []string{"--rungs", "v0,v3,v4,v7", "--faults", "1", "--kinds", "expiry,lose-reply"}
	_, first, _ := runWithin(t, args...)
	_, second, _ := runWithin(t, args...)
	assert.Equal(t, first, second)
}

func TestThreeClients(t *testing.T) {
	t.Parallel()
	code, out, errs := runWithin(t, "--rungs", "v0,v4", "--clients", "3", "--brief")
	assert.Equal(t, asExpected, code, errs)
	assert.Contains(t, out, "0 faults, 2 switches, 4 steps: v0:abba")
	assert.Contains(t, out, "exhausted: no violation within these bounds")
	assert.Contains(t, out, "2 cells; no expectations for these bounds")
}

func TestSearchReportsThatItIsNotExhausted(t *testing.T) {
	t.Parallel()
	code, out, errs := runWithin(t, "--rungs", "v6", "--faults", "2", "--schedules", "50", "--brief")
	assert.Equal(t, asExpected, code, errs)
	assert.Contains(t, out, "not exhausted")
}

func TestBadFlagsGetOneLine(t *testing.T) {
	for args, wrong := range map[string]string{
		"--rungs v99":                   "no such rung",
		"--rungs v13":                   "leave it out",
		"--kinds expiry":                "--kinds needs --faults",
		"--faults 1 --kinds rain":       "--kinds must be one of",
		"--clients 9":                   "--clients must be one of",
		"--situations rain":             "--situations must be one of",
		"--replay v4":                   "a trace is",
		"--replay v4:aaaaa":             "cannot be taken",
		"--no-such-flag":                "see explore --help",
		"--replay v4:a.no-such-fault-a": "is not a step",
		"--rungs v4 --schedules=-1":     "at least",
		"--rungs=":                      "--rungs is empty",
		"--replay=":                     "--replay is empty",
		"--rungs v4 --json=":            "--json is empty",
		"--replay v4:ab --json x":       "without a file",
		"--rungs v4 --situations queue": "nothing to explore",
	} {
		code, out, errs := runWithin(t, strings.Fields(args)...)
		assert.Equal(t, couldNotRun, code, args)
		assert.Empty(t, out, args)
		assert.Contains(t, errs, wrong, args)
		assert.Equal(t, 1, strings.Count(errs, "\n"), args)
	}
}

func TestHelp(t *testing.T) {
	code, out, _ := runWithin(t, "--help")
	assert.Equal(t, asExpected, code)
	for _, part := range []string{"--rungs", "--replay", "Exit codes", "node-empty"} {
		assert.Contains(t, out, part)
	}
	assert.Panics(t, func() { _, _, _ = parse([]string{"--help"}, nil) }, "a panic is not swallowed")
}

// A full is a writer to a full disk.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestUnwritableOutputExits2(t *testing.T) {
	for _, args := range []string{"--help", "--rungs v0", "--replay v3:aaaa.expiry.ba"} {
		var errs bytes.Buffer
		code := execute(t.Context(), strings.Fields(args), full{}, &errs,
			func(do func(*testing.T) int) int { return do(t) })
		assert.Equal(t, couldNotRun, code, args)
		assert.Equal(t, "explore: cannot print the result: no space left on device; "+
			"redirect it to a file that can be written\n", errs.String(), args)
	}
}
