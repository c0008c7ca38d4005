package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A file may be long, or a pipe without a writer: Ctrl-C ends the command that reads it at once.
func TestInterruptWhileReading(t *testing.T) {
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
