package terminal_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/history"
	"stockapi/loadtest/report/terminal"
	"stockapi/loadtest/report/terminal/terminaltest"
	"stockapi/loadtest/scenario"
)

const before = "$ loadtest\n"

// started starts a progress of those cells on a terminal. In a bubble the clock stands still until a test sleeps.
func started(t *testing.T, columns, rows int, scenarios, rungs []string) (*terminaltest.Screen, *terminal.Progress) {
	t.Helper()
	specs, err := scenario.Table.Select(scenarios, rungs, 2, 1)
	require.NoError(t, err)
	screen := terminaltest.New(columns, rows)
	fmt.Fprint(screen, before)
	p := terminal.NewProgress(screen, &terminal.Terminal{Size: screen.Size})
	t.Cleanup(p.Close)
	p.Expect(specs)
	return screen, p
}

func finish(p *terminal.Progress, cells ...*history.Cell) {
	for _, c := range cells {
		p.Finished(assess(c))
	}
}

func TestALineTellsWhatGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		screen, p := started(t, 80, 24, []string{"crash", "pause"}, []string{"v1", "v4", "v15"})
		p.Say("cell 1 of 6")
		assert.Equal(t, before+"0:00: cell 1 of 6", screen.String())
		finish(p, asExpected("crash", "v1"))
		assert.Equal(t, before+"0:00: crash v1 setnx: BROKEN liveness; cell 1 of 6", screen.String())
		p.Status(nil)
		finish(p, needs("luck", "pause", "v15"), told("crash", "v4", "a sold unit 7 to order 1"))
		assert.Equal(t, `$ loadtest
3/6 ! crash v4 lua-release: stock was expected to be ok and is BROKEN: a sold
  unit 7 to order 1
0:00: crash v4 lua-release: BROKEN stock; 3 of 6 cells`, screen.String())
		p.Close()
		p.Close()
		assert.Equal(t, `$ loadtest
3/6 ! crash v4 lua-release: stock was expected to be ok and is BROKEN: a sold
  unit 7 to order 1`, screen.String(), "only what stays is left")
	})
}

func TestTheLineIsCutToTheTerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		screen, p := started(t, 16, 40, []string{"crash"}, []string{"v1"})
		finish(p, asExpected("crash", "v1"))
		assert.Equal(t, before+"0:00: crash v1…", screen.String())
		unknown := terminaltest.New(80, 24)
		p = terminal.NewProgress(unknown, &terminal.Terminal{Size: func() (int, int) { return 0, 0 }})
		defer p.Close()
		finish(p, asExpected("crash", "v1"))
		p.Expect(make([]catalog.Spec, 1))
		assert.Equal(t, "0:00: crash v1 setnx: BROKEN liveness; 1 of 1 cells", unknown.String())
	})
}

func TestAWindowThatIsResizedKeepsWhatStaysAndNothingElse(t *testing.T) {
	const stays = "$loadtest1/3!one-instancev1setnx:stockwasexpectedtobeokandisBROKEN:so"
	screen, p := started(t, 100, 30, []string{"one-instance", "crash", "pause"}, []string{"v1"})
	screen.Resize(73, 30)
	finish(p, told("one-instance", "v1", "so"))
	for _, size := range [][2]int{{40, 30}, {20, 20}, {110, 20}, {73, 28}} {
		screen.Resize(size[0], size[1])
		finish(p, asExpected("crash", "v1"))
		assert.Equal(t, 1, strings.Count(screen.String(), "0:00"), screen.String())
	}
	p.Close()
	assert.NotContains(t, screen.String(), "0:00")
	assert.Equal(t, stays, strings.Join(strings.Fields(screen.String()), ""))
}

func TestTheTimeThatHasPassedAndTheRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		screen := terminaltest.New(120, 40)
		p := terminal.NewProgress(screen, &terminal.Terminal{Size: screen.Size})
		defer p.Close()
		specs, err := scenario.Table.Select(nil, nil, 2, 1)
		require.NoError(t, err)
		p.Expect(specs)
		assert.Equal(t, "0:00: 0 of 658 cells", screen.String())
		for i, s := range specs {
			if time.Sleep(200 * time.Millisecond); s.Scenario.Crowd {
				time.Sleep(800 * time.Millisecond)
			}
			finish(p, asExpected(s.Scenario.Name, s.Rung.Number))
			if i+1 == 66 {
				assert.Regexp(t, `^1:06, about 2:00 left: .*; 66 of 658 cells$`, screen.String())
			}
		}
		assert.Regexp(t, `^3:04: .*; 658 of 658 cells$`, screen.String())
	})
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

func TestElsewhereThereIsALinePerCell(t *testing.T) {
	var out bytes.Buffer
	p := terminal.NewProgress(&out, nil)
	p.Say("building stockapi…")
	p.Say("building stockapi…")
	p.Status(func() string { return "cell 1 of 2" })
	p.Expect(make([]catalog.Spec, 2))
	finish(p, asExpected("crash", "v2"), told("pause", "v4", "twice"))
	p.Close()
	assert.Equal(t, "building stockapi…\n1/2 crash v2 set-nx-ex: ok\n"+
		"2/2 pause v4 lua-release: BROKEN stock, exclusion: twice\n", out.String())
}
