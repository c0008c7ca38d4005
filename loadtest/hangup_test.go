//go:build unix

package main

import (
	"os/signal"
	"path/filepath"
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
	t.Parallel()
	stockapi(t)
	tmp := ownTemp(t)
	cmd := tmp.command("--backend", "embedded", "--rungs", "v4",
		"--scenarios", "one-instance", "--repeat", "500")
	stderr := &trigger{after: "1/", then: func() { assert.NoError(t, cmd.Process.Signal(syscall.SIGHUP)) }}
	cmd.Stderr = stderr
	_ = cmd.Run()
	assert.Equal(t, couldNotRun, cmd.ProcessState.ExitCode())
	assert.Contains(t, stderr.String(), "loadtest: interrupted, with ")
	assert.Empty(t, tmp.left(t))
}

func TestAnAuditOfCellsThatWereNotRunSaysThatItCouldNot(t *testing.T) {
	file := filepath.Join(t.TempDir(), history.Results)
	require.NoError(t, history.Write(file, &history.Run{ID: "none",
		Cells: []*history.Cell{{Scenario: "crash", Rung: "v1", Name: "setnx", NotRun: "needs instances of its own"}}}))
	code, _, _ := loadtest(t, "audit", file)
	assert.Equal(t, couldNotRun, code)
}
