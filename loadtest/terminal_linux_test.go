package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/backend/backendtest"
	"stockapi/loadtest/report/terminal/terminaltest"
)

// The program on a terminal leaves its header and its result there, in lines that fit.
func TestARunOnATerminalLeavesItsResultAlone(t *testing.T) {
	backendtest.Long(t)
	t.Parallel()
	const rungs = "v1,v1.5,v2,v3,v4,v5,v5-as-printed,v6"
	for _, size := range [][2]int{{80, 24}, {120, 40}, {200, 50}} {
		t.Run(fmt.Sprint(size[0]), func(t *testing.T) {
			t.Parallel()
			url := bigShop().serve(t)
			tty, screen, closed := terminaltest.Open(t, size[0], size[1])
			code := execute(t.Context(), []string{"--targets", url + "," + url, "--requests", "10", "--stock", "3",
				"--scenarios", "one-instance,two-instances", "--rungs", rungs}, tty, tty)
			closed()
			said := screen.String()
			assert.False(t, screen.Wrapped(), said)
			assert.True(t, strings.HasPrefix(said, "run  "), said)
			assert.NotContains(t, said, "to come")
			assert.NotContains(t, said, " cells; ")
			if !tooSlow(code, said) {
				assert.Equal(t, asExpected, code, said)
				assert.True(t, strings.HasSuffix(said, "as expected (16 of 16 cells)"), said)
			}
		})
	}
}

// A file may be long, or a pipe that nobody writes to: Ctrl-C ends a command that reads one at once.
func TestAnEndWhileAFileIsRead(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(file, 0o600))
	writer, err := os.OpenFile(file, os.O_RDWR, 0)
	require.NoError(t, err)
	defer writer.Close()
	for _, args := range [][]string{{"audit", file}, {"audit", "--answers", "--stock", "1", file}, {"report", file}} {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		assert.Equal(t, couldNotRun, execute(ctx, args, io.Discard, io.Discard), args)
		cancel()
	}
}
