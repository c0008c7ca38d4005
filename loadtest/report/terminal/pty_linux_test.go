package terminal_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/report/terminal"
	"stockapi/loadtest/report/terminal/terminaltest"
	"stockapi/loadtest/scenario"
)

// A run on a pseudo-terminal of the system: while it runs a line tells what goes on, and when it is over only its
// result is there.
func TestARunOnARealTerminal(t *testing.T) {
	const columns, rows = 100, 30
	scenarios, rungs := scenario.Table.First()
	cells := cellsOf(t, scenarios, rungs)
	tty, screen, closed := terminaltest.Open(t, columns, rows)
	of := terminal.Of(tty)
	require.NotNil(t, of)
	seenColumns, seenRows := of.Size()
	require.Equal(t, [2]int{columns, rows}, [2]int{seenColumns, seenRows})
	p := terminal.NewProgress(tty, of)
	p.Expect(make([]catalog.Spec, len(cells)))
	for i, c := range cells {
		p.Finished(assess(c))
		status := fmt.Sprintf("; %d of 90 cells", i+1)
		require.Eventually(t, func() bool { return strings.HasSuffix(screen.String(), status) }, 10*time.Second,
			time.Millisecond)
	}
	p.Close()
	result := terminal.Run{Rows: scenario.Table.Assess(cells)}
	terminal.NewPrinter(tty).Results(result)
	assert.True(t, terminal.NewPrinter(tty).End(result))
	closed()
	assert.False(t, screen.Wrapped(), "no line was wider than the screen")
	assert.Equal(t, strings.TrimSpace(printed(terminal.Printer{Width: columns}, terminal.Run{}, cells...)),
		screen.String(), "nothing but the result is left")
}
