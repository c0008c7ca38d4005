package main

import (
	"bytes"
	"io"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/mattn/go-isatty"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The lines of concurrent orders are written whole, on standard output and only with the flag.
func TestNarrationOfConcurrentOrders(t *testing.T) {
	assert.Nil(t, narrator(&config{}, io.Discard))
	out := new(bytes.Buffer)
	in := startOn(t, out, "--narrate", "--redis", "embedded", "--embedded-addr", "127.0.0.1:0")
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() { assert.Equal(t, 200, in.post(t, "/v5.5/decrease?wait=20s").status) })
	}
	all.Wait()
	in.end()
	require.NoError(t, in.wait())
	line := regexp.MustCompile(`^\d\d:\d\d:\d\d\.\d{3} \S+ +v5\.5 +\+\d+ ms [ !] \w[^\x1b]*\n$`)
	for told := range strings.Lines(out.String()) {
		assert.Regexp(t, line, told)
	}
	assert.Equal(t, 50, strings.Count(out.String(), " released\n"))
	assert.NotContains(t, in.logs.text(), "wants 1 of")
}

// Only a terminal gets colours, and only if its user has not declined them.
func TestColorsAreForTerminals(t *testing.T) {
	t.Setenv("NO_COLOR", "")
	t.Setenv("TERM", "xterm")
	assert.False(t, takesColor(io.Discard))
	file, err := os.Create(t.TempDir() + "/file")
	require.NoError(t, err)
	defer file.Close()
	assert.False(t, takesColor(file))
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("no pseudo-terminal: ", err)
	}
	defer terminal.Close()
	if !isatty.IsTerminal(terminal.Fd()) {
		t.Skip("this end of a pseudo-terminal is none on this system")
	}
	assert.True(t, takesColor(terminal))
	assert.True(t, takesColor(&output{Writer: terminal}))
	t.Setenv("TERM", "dumb")
	assert.False(t, takesColor(terminal))
	t.Setenv("TERM", "xterm")
	t.Setenv("NO_COLOR", "1")
	assert.False(t, takesColor(terminal))
}
