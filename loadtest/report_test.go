package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/audit"
	"stockapi/loadtest/history"
	"stockapi/loadtest/report/html"
)

func TestReportIsMadeFromTheFileAlone(t *testing.T) {
	left := int64(1)
	c := &history.Cell{Scenario: "one-instance", Rung: "v4", Name: "lua-release", Initial: 1, Left: &left}
	c.Findings, c.Coverage = audit.Judge(c)
	file := filepath.Join(t.TempDir(), "r.jsonl.gz")
	require.NoError(t, history.Write(file, &history.Run{ID: "1", Cells: []*history.Cell{c}}))

	code, stdout, stderr := loadtest(t, "report", file)
	assert.Equal(t, surprised, code, "nobody bought anything: %s", stderr)
	beside := filepath.Join(filepath.Dir(file), "r.html")
	assert.Contains(t, stdout, "wrote "+beside)
	elsewhere := filepath.Join(t.TempDir(), "x.html")
	code, _, _ = loadtest(t, "report", file, "-o", elsewhere)
	assert.Equal(t, surprised, code)
	one, err := os.ReadFile(beside)
	require.NoError(t, err)
	two, err := os.ReadFile(elsewhere)
	require.NoError(t, err)
	assert.Equal(t, one, two)
	assert.Contains(t, string(one), "<!doctype html>")
}

// The directory of a run stands for its results.
func TestReportOfADirectory(t *testing.T) {
	dir := filepath.Dir(withFault(t))
	require.NoError(t, os.Rename(filepath.Join(dir, "r.jsonl.gz"), filepath.Join(dir, history.Results)))
	code, stdout, stderr := loadtest(t, "report", dir)
	assert.Equal(t, surprised, code, stderr)
	assert.Contains(t, stdout, "wrote "+filepath.Join(dir, "report.html"))
	assert.FileExists(t, filepath.Join(dir, "report.html"))
	code, _, stderr = loadtest(t, "audit", dir)
	assert.Equal(t, surprised, code, stderr)
}

// withFault writes a file of three cells: one that is well, and two that sold their unit twice, the second one by a
// fault.
func withFault(t *testing.T) (file string) {
	t.Helper()
	left := int64(0)
	sale := func(order string, done history.Instant) history.Op {
		return history.Op{
			Order: order, Instance: "a", Outcome: history.Sold, Sent: done - 1, Done: done, Quantity: 1, Units: []int64{1},
		}
	}
	twice := []history.Op{sale("one", 1000), sale("two", 2000)}
	cells := []*history.Cell{
		{Scenario: "one-instance", Rung: "v4", Name: "lua-release", Initial: 1, Left: &left, Ops: twice[:1]},
		{Scenario: "one-instance", Rung: "v0", Name: "nolock", Initial: 1, Left: &left, Ops: twice},
		{Scenario: "pause", Rung: "v4", Name: "lua-release", Initial: 1, Left: &left, Ops: twice,
			Faults: []history.Fault{{Order: "one", Instance: "a", Text: "stopped for 3.000 s", At: 500, End: 900}}},
		{Scenario: "pause", Rung: "v6", Name: "redlock", NotRun: "needs 5 nodes"},
	}
	for _, c := range cells {
		c.Findings, c.Coverage = audit.Judge(c)
	}
	file = filepath.Join(t.TempDir(), "r.jsonl.gz")
	require.NoError(t, history.Write(file, &history.Run{ID: "1", Cells: cells}))
	return file
}

func TestAPictureOfTheCellThatWasChosen(t *testing.T) {
	file := withFault(t)
	to := filepath.Join(t.TempDir(), "picture.svg")
	for _, c := range []struct {
		args []string
		says string
	}{
		{nil, "lock v4 lua-release, scenario pause"},
		{[]string{"--cell", "one-instance v0"}, "lock v0 nolock, scenario one-instance"},
		{[]string{"--cell", "one-instance nolock"}, "lock v0 nolock, scenario one-instance"},
		{[]string{"--cell", "one-instance v4"}, "No violation was found"},
	} {
		code, stdout, stderr := loadtest(t, append([]string{"report", file, "--svg", to}, c.args...)...)
		assert.Equal(t, surprised, code, stderr)
		assert.Contains(t, stdout, "wrote "+to)
		doc, err := os.ReadFile(to)
		require.NoError(t, err)
		assert.Contains(t, string(doc), c.says)
	}
	assert.NoFileExists(t, filepath.Join(filepath.Dir(file), "r.html"), "a picture instead of the report")
}

func TestAPictureThatCannotBeDrawn(t *testing.T) {
	file := withFault(t)
	to := filepath.Join(t.TempDir(), "picture.svg")
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{file, "--svg", to, "--cell", "pause v9"},
			`there is no cell "pause v9" with orders to draw, did you mean "pause v4"?`},
		{[]string{file, "--svg", to, "--cell", "rain"},
			`there is no cell "rain" with orders to draw: choose "one-instance v4", "one-instance v0", "pause v4"`},
		{[]string{file, "--svg", to, "--cell", "pause v6"}, `there is no cell "pause v6" with orders to draw`},
		{[]string{oversold(t), "--svg", to}, `choose a cell with --cell, "one-instance v0", "one-instance v4"`},
		{[]string{file, "--cell", "pause v4"}, "add --svg FILE"},
		{[]string{file, "--svg", to, "-o", to}, "leave out --output, or --svg"},
		{[]string{file, "--svg", filepath.Join(to, "missing")}, "cannot write " + to},
	} {
		code, _, stderr := loadtest(t, append([]string{"report"}, c.args...)...)
		assert.Equal(t, couldNotRun, code)
		assert.Contains(t, stderr, c.says)
		assert.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
		assert.NoFileExists(t, to)
	}
}

func TestReportOfWhatIsNoHistory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "r.jsonl.gz")
	require.NoError(t, os.WriteFile(file, []byte(`{"format":"stock`), 0o600))
	code, _, stderr := loadtest(t, "report", file)
	assert.Equal(t, couldNotRun, code)
	assert.Contains(t, stderr, "not a usable history: it is cut short")
	code, _, stderr = loadtest(t, "report", "/nonexistent")
	assert.Equal(t, couldNotRun, code)
	assert.Contains(t, stderr, "/nonexistent")
}

func TestTheReportKnowsTheFlagsDefaults(t *testing.T) {
	c, _, _, err := parse(nil, io.Discard, io.Discard)
	require.NoError(t, err)
	f := c.Run
	assert.Equal(t, history.Load{
		Requests: f.Requests, Concurrency: f.Concurrency, Stock: f.Stock, Wait: f.Wait, TTL: f.TTL, Work: f.Work,
	}, html.Defaults)
}
