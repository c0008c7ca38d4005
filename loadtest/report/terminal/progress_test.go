package terminal_test

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/history"
	"stockapi/loadtest/report/terminal"
	"stockapi/loadtest/report/terminal/terminaltest"
)

const before = "$ loadtest\n"

// noTime is a clock that stands still.
func noTime() time.Time { return time.Time{} }

// started starts a progress of those cells on a terminal.
func started(t *testing.T, columns, rows int, scenarios, rungs []string) (*terminaltest.Screen, *terminal.Progress) {
	t.Helper()
	specs, err := catalog.Select(scenarios, rungs, 2, 1)
	require.NoError(t, err)
	screen := terminaltest.New(columns, rows)
	fmt.Fprint(screen, before)
	p := terminal.NewProgress(screen, &terminal.Terminal{Size: screen.Size, Now: noTime})
	t.Cleanup(p.Close)
	p.Expect(specs)
	return screen, p
}

func finish(p *terminal.Progress, cells ...*history.Cell) {
	for _, c := range cells {
		p.Finished(c)
	}
}

func TestTheGridFillsInPlace(t *testing.T) {
	screen, p := started(t, 80, 24, []string{"two-instances", "crash", "pause", "write-only-fence"},
		[]string{"v1", "v4", "v15"})
	p.Say("cell 1 of 10")
	assert.Equal(t, `$ loadtest
· to come; S stock E exclusion R own-release L liveness F fence O order H herd
                 v1  v4  v15
─────────────────────────────
two-instances    ·   ·   ·
crash            ·   ·   ·
pause            ·   ·   ·
write-only-fence –   –   ·
0:00: cell 1 of 10`, screen.String())

	p.Status(nil)
	finish(p, told("two-instances", "v1", "a sold unit 7 to order 1"), asExpected("two-instances", "v4"),
		asExpected("crash", "v1"),
		asExpected("pause", "v4"),
		&history.Cell{Scenario: "pause", Rung: "v15", Name: "fenced", NotRun: "needs luck"}, told("crash", "v4", "unit 8"))
	assert.Equal(t, `$ loadtest
1/10 ! two-instances v1 setnx: stock was expected to be ok and is BROKEN: a sold unit 7 to order 1
6/10 ! crash v4 lua-release: stock was expected to be ok and is BROKEN: unit 8
· to come; S stock E exclusion R own-release L liveness F fence O order H herd
                 v1  v4  v15
─────────────────────────────
two-instances    S!  ok  ·
crash            L   S!  ·
pause            ·   SE  n/r
write-only-fence –   –   ·
0:00: 6 of 10 cells; crash v4 lua-release: BROKEN stock`, unwrapped(screen))
	p.Close()
	p.Close()
	assert.Equal(t, `$ loadtest
1/10 ! two-instances v1 setnx: stock was expected to be ok and is BROKEN: a sold unit 7 to order 1
6/10 ! crash v4 lua-release: stock was expected to be ok and is BROKEN: unit 8`,
		unwrapped(screen), "only what stays is left")
}

// unwrapped joins the lines of what stays.
func unwrapped(v *terminaltest.Screen) string {
	return regexp.MustCompile(`\n  (\S)`).ReplaceAllString(v.String(), " $1")
}

func TestOfRepetitionsASurpriseIsShown(t *testing.T) {
	screen, p := started(t, 80, 24, []string{"crash"}, []string{"v4"})
	finish(p, asExpected("crash", "v4"))
	assert.Contains(t, screen.String(), "\ncrash ok\n")
	finish(p, told("crash", "v4", "x"), asExpected("crash", "v4"))
	assert.Contains(t, screen.String(), "\ncrash S!\n")
}

func TestATerminalWithoutRoomForTheGridHasALine(t *testing.T) {
	scenarios, rungs := []string{"crash", "pause", "hung-holder"}, []string{"v1", "v4"}
	screen, _ := started(t, 80, 8, scenarios, rungs)
	assert.Contains(t, screen.String(), "hung-holder ·   ·\n0:00: 0 of 6 cells")
	low, p := started(t, 80, 6, scenarios, rungs)
	finish(p, asExpected("crash", "v1"))
	assert.Equal(t, before+"0:00: 1 of 6 cells; crash v1 setnx: BROKEN liveness", low.String())
	narrow, p := started(t, 16, 40, scenarios, rungs)
	finish(p, asExpected("crash", "v1"))
	assert.Equal(t, before+"0:00: 1 of 6 c…", narrow.String())
}

func TestATerminalOfUnknownSizeHasALine(t *testing.T) {
	screen := terminaltest.New(80, 24)
	p := terminal.NewProgress(screen, &terminal.Terminal{Size: func() (int, int) { return 0, 0 }, Now: noTime})
	defer p.Close()
	specs, err := catalog.Select([]string{"crash"}, []string{"v1"}, 2, 1)
	require.NoError(t, err)
	p.Expect(specs)
	finish(p, asExpected("crash", "v1"))
	assert.Equal(t, "0:00: 1 of 1 cells; crash v1 setnx: BROKEN liveness", screen.String())
}

func TestAWindowThatIsResizedKeepsWhatStaysAndNothingElse(t *testing.T) {
	const stays = before + "1/40 ! one-instance v1 setnx: stock was expected to be ok and is\n  BROKEN: so"
	screen, p := started(t, 100, 30, []string{"one-instance", "crash", "pause"}, append([]string{"v0"}, someRungs...))
	screen.Resize(70, 30)
	finish(p, told("one-instance", "v1", "so"))
	for _, size := range [][2]int{{64, 30}, {110, 20}, {70, 28}, {100, 16}, {100, 30}} {
		screen.Resize(size[0], size[1])
		finish(p, asExpected("crash", "v1"))
		seen := screen.String()
		assert.Equal(t, 1, strings.Count(seen, " cells;"), seen)
		assert.Equal(t, 1, strings.Count(seen, "to come;"), seen)
		assert.True(t, strings.HasPrefix(seen, stays+"\n· to come;"), seen)
	}
	p.Close()
	assert.Equal(t, stays, screen.String())
}

func TestTheScreenScrollsUnderTheGrid(t *testing.T) {
	screen, p := started(t, 100, 12, []string{"one-instance", "crash"}, []string{"v0", "v1"})
	for range 30 {
		finish(p, told("one-instance", "v1", "so"))
	}
	finish(p, asExpected("crash", "v1"))
	p.Close()
	assert.Equal(t, 31, strings.Count(screen.String(), "\n")+1, "30 lines that stay, and nothing in between")
}

func TestTheLineIsReadAnew(t *testing.T) {
	screen := terminaltest.New(80, 24)
	p := terminal.NewProgress(screen, &terminal.Terminal{Size: screen.Size})
	defer p.Close()
	var n int
	p.Status(func() string { n++; return fmt.Sprintf("read %d times", n) })
	assert.Eventually(t, func() bool { return strings.HasSuffix(screen.String(), "read 3 times") }, 10*time.Second,
		10*time.Millisecond)
	p.Clear()
	assert.Empty(t, screen.String())
}

func TestColoursOfTheGrid(t *testing.T) {
	specs, err := catalog.Select([]string{"crash"}, []string{"v1", "v4"}, 2, 1)
	require.NoError(t, err)
	for _, colour := range []bool{true, false} {
		var out bytes.Buffer
		p := terminal.NewProgress(&out, &terminal.Terminal{Size: func() (int, int) { return 80, 24 }, Colour: colour})
		p.Expect(specs)
		finish(p, asExpected("crash", "v1"), asExpected("crash", "v4"))
		p.Close()
		assert.Equal(t, colour, strings.Contains(out.String(), "\x1b[31mL\x1b[0m"))
		assert.Equal(t, colour, strings.Contains(out.String(), "\x1b[32mok\x1b[0m"))
	}
}

func TestElsewhereThereIsALinePerCell(t *testing.T) {
	var out bytes.Buffer
	p := terminal.NewProgress(&out, nil)
	p.Say("building stockapi…")
	p.Expect(make([]catalog.Spec, 2))
	finish(p, asExpected("crash", "v2"), told("pause", "v4", "twice"))
	p.Close()
	assert.Equal(t, "1/2 crash v2 set-nx-ex: ok\n2/2 pause v4 lua-release: BROKEN stock, exclusion: twice\n", out.String())
}
