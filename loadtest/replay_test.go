//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/history"
	"stockapi/loadtest/replay"
)

// From the command line to the verdict, on real servers. CI replays all counterexamples.
func TestReplayOfTrace(t *testing.T) {
	need(t, "redis-server")
	t.Parallel()
	stockapi(t)
	dir, tmp := t.TempDir(), ownTemp(t)
	code, out, errs := tmp.loadtest(t, "replay", "v0:abba", "--expect", "stock", "--out", dir)
	require.Equal(t, asExpected, code, out+errs)
	assert.Regexp(t, `(?m)^  set stock +lock: free  stock: 0 +\+\d\.\d{3} s$`, out)
	assert.Contains(t, out, "a: sold unit 1\nb: sold unit 1\n")
	assert.Regexp(t, `(?m)^stock +BROKEN +[ab] sold unit 1 to (Anna|Bert) at `, out)
	assert.Contains(t, out, "as expected: stock BROKEN")
	run, err := history.Open(dir)
	require.NoError(t, err)
	var steps []string
	for _, s := range run.Cells[0].Steps {
		steps = append(steps, s.Client+" "+s.What)
	}
	assert.Equal(t, []string{"a get stock", "b get stock", "b set stock", "a set stock"}, steps)
	page, err := os.ReadFile(filepath.Join(dir, "report.html"))
	require.NoError(t, err)
	assert.Contains(t, string(page), "<title>v0:abba</title>")
	assert.Empty(t, tmp.left(t))
}

// A trace that does not break the verdict of its line is a surprise, and so is one that breaks it although the line
// gives a reason why it should not.
func TestReplayOfList(t *testing.T) {
	t.Parallel()
	need(t, "redis-server")
	stockapi(t)
	tmp := ownTemp(t)
	file := filepath.Join(t.TempDir(), "list.txt")
	lines := []string{
		"expiry own-release v3:aaaa.expiry.ba", "crash liveness v1:crash-after-a.b", "hold exclusion v15:aa.hold-a.bba",
		"node-empty stock v5:aa.node-empty-1.bbba", "lose-reply liveness v1.5:lose-reply-a.b.time",
		"give-up liveness v1.5:a.give-up-a.b", "node-down liveness v1:aaa.node-down-1.ab",
		"hold exclusion v6:aaaa.hold-a.bbbba", "late own-release v3:aaaa.late-a.time.time.b.arrive-a",
		"late liveness v1:late-a.time.arrive-a.b", "late stock v2:aa.late-a.time.abbb.arrive-a",
		"clock-jump stock v4:aa.clock-jump-1.bbba # virtual only",
	}
	require.NoError(t, os.WriteFile(file, []byte(strings.Join(lines, "\n")), 0o600))
	code, out, errs := tmp.loadtest(t, "replay", "--file", file)
	assert.Equal(t, asExpected, code, out+errs)
	assert.Contains(t, out, "as expected (12 traces)")
	assert.Equal(t, 11, strings.Count(out, ": BROKEN: "))
	assert.Contains(t, out, "v4:aa.clock-jump-1.bbba: not on real processes: virtual only")

	lines = []string{
		"none stock v0:abba # nobody knows why", "expiry own-release v3:aaaa.expiry.ab", "none stock v4:aaaaa",
	}
	require.NoError(t, os.WriteFile(file, []byte(strings.Join(lines, "\n")), 0o600))
	code, out, errs = tmp.loadtest(t, "replay", "--file", file)
	assert.Equal(t, surprised, code, out+errs)
	assert.Contains(t, out, "v0:abba: BROKEN, although the list says that it is not: nobody knows why")
	assert.Contains(t, out, "v3:aaaa.expiry.ab: NOT BROKEN: [own-release]; broken are []")
	assert.Contains(t, out, "v4:aaaaa: NOT REPLAYED: step 5 of the trace, a, cannot be taken: "+
		"the order of a has ended: sold; waiting: nothing")
	assert.Contains(t, out, "NOT as expected: 3 of 3 traces")
	assert.Empty(t, tmp.left(t))
}

func TestReplayPrintsOutcomes(t *testing.T) {
	assert.Equal(t, "busy: 423", ended(&history.Op{Outcome: history.Busy, Detail: "423"}))
	assert.Equal(t, "unknown", ended(&history.Op{Outcome: history.Unknown}))
}

func TestReplayIsInterrupted(t *testing.T) {
	t.Parallel()
	need(t, "redis-server")
	stockapi(t)
	tmp := ownTemp(t)
	cmd := tmp.command("replay", "v3:aaaa.expiry.ba")
	var errs strings.Builder
	cmd.Stderr = &errs
	cmd.Stdout = &trigger{after: "set lock", then: func() { assert.NoError(t, cmd.Process.Signal(os.Interrupt)) }}
	_ = cmd.Run()
	assert.Equal(t, couldNotRun, cmd.ProcessState.ExitCode())
	assert.Equal(t, "loadtest: interrupted\n", errs.String())
	assert.Empty(t, tmp.left(t))
}

func TestReplayErrors(t *testing.T) {
	list := filepath.Join(t.TempDir(), "list.txt")
	require.NoError(t, os.WriteFile(list, []byte("none luck v0:abba"), 0o600))
	for args, wrong := range map[string]string{
		"replay":                                    "name a trace, such as v3:aaaa.expiry.ba",
		"replay v0:abba --file x":                   "name a trace",
		"replay v0":                                 "a trace is a rung and its steps",
		"replay v99:a":                              "there is no rung v99",
		"replay v13:a":                              "its locks are not in Redis",
		"replay v4:aa.clock-jump-1.bbba":            "virtual only",
		"replay v0:abba --expect luck":              `--expect: unknown verdict "luck"`,
		"replay --file no-such-file":                "no such file",
		"replay --file " + list:                     "line 1: unknown verdict",
		"replay v0:abba --backend x":                "--backend must be one of",
		"replay --file " + list + " --expect stock": "--expect is for one trace",
	} {
		code, out, errs := loadtest(t, strings.Fields(args)...)
		assert.Equal(t, couldNotRun, code, args)
		assert.Empty(t, out, args)
		assert.Contains(t, errs, wrong, args)
		assert.Equal(t, 1, strings.Count(errs, "\n"), args)
	}
	t.Setenv("PATH", t.TempDir())
	code, _, errs := loadtest(t, "replay", "v0:abba")
	assert.Equal(t, couldNotRun, code)
	assert.Equal(t, "loadtest: there is no redis-server on PATH, nor a valkey-server: install one, or use "+
		"--backend embedded\n", errs)
}

// In the list that CI replays, the only reasons why a trace breaks nothing are a clock jump, an order that reaches the
// stock after its release, and a late script that no client resends.
func TestCounterexamples(t *testing.T) {
	list, err := replay.ReadList("replay/counterexamples.txt")
	require.NoError(t, err)
	onProcesses := 0
	for _, e := range list {
		late := e.Fault == "late" && (e.Verdicts() == "exclusion" || e.Trace.Rung == "v15-write-only")
		assert.Equal(t, e.Not != "", late || replay.Check(e.Trace) != nil, e.Trace)
		if e.Not == "" {
			onProcesses++
		}
	}
	assert.Greater(t, onProcesses, 100)
}
