//go:build unix

package main

import (
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/history"
)

func TestATerminalThatGoesEndsARunInOrder(t *testing.T) {
	if signal.Ignored(syscall.SIGHUP) {
		t.Skip("under nohup no terminal ends anything")
	}
	path, left := stockapi(t), ownTemp(t)
	var out strings.Builder
	stderr := &trigger{after: "1/", then: func() { assert.NoError(t, syscall.Kill(syscall.Getpid(), syscall.SIGHUP)) }}
	code := execute(t.Context(), []string{"--stockapi", path, "--backend", "embedded", "--rungs", "v4",
		"--scenarios", "one-instance", "--repeat", "500"}, &out, stderr)
	assert.Equal(t, couldNotRun, code)
	assert.Contains(t, stderr.String(), "loadtest: interrupted, with ")
	assert.Empty(t, left())
}

func TestAnAuditOfCellsThatWereNotRunSaysThatItCouldNot(t *testing.T) {
	file := filepath.Join(t.TempDir(), "results.json")
	require.NoError(t, history.Write(file, &history.Run{ID: "none",
		Cells: []*history.Cell{{Scenario: "crash", Rung: "v1", Name: "setnx", NotRun: "needs instances of its own"}}}))
	code, _, _ := loadtest(t, "audit", file)
	assert.Equal(t, couldNotRun, code)
}
