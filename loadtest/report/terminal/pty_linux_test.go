package terminal_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/report/terminal"
	"stockapi/loadtest/report/terminal/terminaltest"
)

// A whole run on a pseudo-terminal of the system: while it runs the grid fits the screen, and when it is over only its
// result is there.
func TestAWholeRunOnARealTerminal(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 40}, {200, 50}} {
		columns, rows := size[0], size[1]
		t.Run(fmt.Sprintf("%dx%d", columns, rows), func(t *testing.T) {
			run := wholeRun(t)
			specs, err := catalog.Select(nil, nil, 2, 1)
			require.NoError(t, err)
			tty, screen, closed := terminaltest.Open(t, columns, rows)
			of := terminal.Of(tty)
			require.NotNil(t, of)
			seenColumns, seenRows := of.Size()
			require.Equal(t, columns, seenColumns)
			require.Equal(t, rows, seenRows)

			p := terminal.NewProgress(tty, of)
			p.Expect(specs)
			for i, c := range run.Cells {
				p.Finished(c)
				if i%50 == 0 {
					fits(t, screen, columns, rows, i+1)
				}
			}
			p.Close()
			result := terminal.Outcome{Rows: catalog.Assess(run.Cells), Selected: len(run.Cells)}
			assert.True(t, terminal.NewPrinter(tty).Results(result))
			closed()

			assert.False(t, screen.Wrapped(), "no line was wider than the screen")
			left := screen.String()
			assert.NotContains(t, left, "to come")
			assert.NotContains(t, left, " cells; ")
			plain := terminal.Printer{Width: columns}
			var want strings.Builder
			plain.Writer = &want
			plain.Results(result)
			assert.Equal(t, trimmed(strings.TrimSpace(want.String())), trimmed(left),
				"nothing but the result is left")
			if columns >= 120 {
				assert.LessOrEqual(t, strings.Count(left, "\n"), 80)
			}
		})
	}
}

// fits waits until the screen shows the grid with so many cells finished, and looks whether it fits.
func fits(t *testing.T, screen *terminaltest.Screen, columns, rows, finished int) {
	t.Helper()
	status := fmt.Sprintf("%d of 658 cells", finished)
	var lines []string
	require.Eventually(t, func() bool {
		lines = screen.Visible()
		return strings.Contains(strings.Join(lines, "\n"), status)
	}, 10*time.Second, time.Millisecond)
	assert.LessOrEqual(t, len(lines), rows)
	assert.Regexp(t, `^· to come`, lines[0])
	assert.GreaterOrEqual(t, len(lines), 20, "the grid is there")
	for _, line := range lines {
		assert.Less(t, utf8.RuneCountInString(line), columns, line)
	}
}

// trimmed returns the lines of a screen without spaces at their ends.
func trimmed(screen string) []string {
	lines := strings.Split(screen, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return lines
}
