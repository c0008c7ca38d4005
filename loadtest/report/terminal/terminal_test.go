package terminal_test

import (
	"io"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/report/terminal"
)

// Lines are redrawn only on a terminal that can do so.
func TestTerminalOf(t *testing.T) {
	t.Setenv("TERM", "xterm")
	assert.Nil(t, terminal.Of(io.Discard))
	file, err := os.Create(t.TempDir() + "/file")
	require.NoError(t, err)
	defer file.Close()
	assert.Nil(t, terminal.Of(file))
	tty, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("no pseudo-terminal: ", err)
	}
	defer tty.Close()
	if !terminal.Colourful(tty) {
		t.Skip("this end of a pseudo-terminal is none on this system")
	}
	assert.NotNil(t, terminal.Of(tty))
	assert.NotNil(t, terminal.Of(&terminal.Output{Writer: tty}))
	t.Setenv("TERM", "dumb")
	assert.Nil(t, terminal.Of(tty))
}
