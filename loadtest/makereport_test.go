package main

import (
	"io"
	"os"
	"path/filepath"
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
	file := filepath.Join(t.TempDir(), "r.json")
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

func TestReportOfWhatIsNoHistory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "r.json")
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
