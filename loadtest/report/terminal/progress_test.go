package terminal_test

import (
	"bytes"
	"fmt"
	"regexp"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/history"
	"stockapi/loadtest/report/terminal"
	"stockapi/loadtest/scenario"
)

// started starts a progress of those cells on a terminal of that width. In a synctest bubble the clock stands still
// until a test sleeps.
func started(t *testing.T, columns int, scenarios, rungs []string) (*bytes.Buffer, *terminal.Progress, []catalog.Spec) {
	t.Helper()
	specs, err := scenario.Table.Select(scenarios, rungs, 2, 1)
	require.NoError(t, err)
	var out bytes.Buffer
	p := terminal.NewProgress(&out, &terminal.Terminal{Size: func() (int, int) { return columns, 24 }})
	p.Expect(specs)
	return &out, p, specs
}

// screen returns what a terminal shows after this output: a carriage return and an erase clear the line.
func screen(out *bytes.Buffer) string {
	return regexp.MustCompile("[^\n]*\r\x1b\\[K").ReplaceAllString(out.String(), "")
}

func finish(p *terminal.Progress, cells ...*history.Cell) {
	for _, c := range cells {
		p.Finished(assess(c))
	}
}

func TestProgressKeepsSurprises(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out, p, _ := started(t, 80, []string{"crash", "pause"}, []string{"v1", "v4", "v15"})
		assert.Equal(t, "0 of 6 cells", screen(out))
		p.Say("the disk is slow")
		assert.Equal(t, "the disk is slow", screen(out))
		finish(p, asExpected("crash", "v1"))
		assert.Equal(t, "1 of 6 cells", screen(out))
		finish(p, needs("luck", "pause", "v15"), breaks("crash", "v4", "a sold unit 7 to order 1"))
		const stays = "3/6 ! crash v4 lua-release: stock was expected to be ok and is BROKEN: a sold unit 7 to order 1\n"
		assert.Equal(t, stays+"3 of 6 cells", screen(out))
		p.Clear()
		assert.Equal(t, stays, screen(out))
	})
}

func TestProgressFitsTheTerminal(t *testing.T) {
	out, p, _ := started(t, 10, []string{"crash"}, []string{"v1"})
	finish(p, asExpected("crash", "v1"))
	assert.Equal(t, "1 of 1 c…", screen(out))
	out, _, _ = started(t, 0, []string{"crash"}, []string{"v1"})
	assert.Equal(t, "0 of 1 cells", screen(out), "its width is unknown")
}

// The estimate allows for crowds, which come first and take five times as long as faults.
func TestProgressEstimate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out, p, specs := started(t, 80, nil, nil)
		crowds, all := 0, time.Duration(0)
		for _, s := range specs {
			all += 200 * time.Millisecond
			if s.Scenario.Crowd {
				all += 800 * time.Millisecond
				crowds++
			}
		}
		for i, s := range specs {
			if time.Sleep(200 * time.Millisecond); s.Scenario.Crowd {
				time.Sleep(800 * time.Millisecond)
			}
			finish(p, asExpected(s.Scenario.Name, s.Rung.Number))
			if i+1 == crowds {
				left := (all - time.Duration(crowds)*time.Second).Round(5 * time.Second)
				assert.Equal(t, fmt.Sprintf("%d of %d cells, about %d:%02d to go", crowds, len(specs),
					int(left.Minutes()), int(left.Seconds())%60), screen(out))
			}
		}
		assert.Equal(t, fmt.Sprintf("%d of %d cells", len(specs), len(specs)), screen(out))
	})
}

func TestProgressWithoutATerminal(t *testing.T) {
	var out bytes.Buffer
	p := terminal.NewProgress(&out, nil)
	p.Say("building stockapi…")
	p.Say("building stockapi…")
	p.Status("starting Redis and stockapi…")
	p.Expect(make([]catalog.Spec, 2))
	finish(p, asExpected("crash", "v2"), breaks("pause", "v4", "twice"))
	p.Clear()
	assert.Equal(t, "building stockapi…\n1/2 crash v2 set-nx-ex: ok\n"+
		"2/2 pause v4 lua-release: BROKEN stock, exclusion: twice\n", out.String())
}

func TestProgressOfRows(t *testing.T) {
	var out bytes.Buffer
	p := terminal.NewProgress(&out, nil)
	p.Count(2)
	played := &history.Cell{Scenario: "busy", Defect: &history.Defect{}, Findings: []history.Finding{
		{Verdict: history.Stock, Result: history.OK}, {Verdict: history.Liveness, Result: history.Broken}}}
	p.Row(terminal.RowOf(played))
	p.Row(terminal.RowOf(&history.Cell{Scenario: "crash 3", NotTested: &history.NotTested{Reason: "no lock"}}))
	assert.Equal(t, "busy ok – – BROKEN DEFECT  (1 of 2 cells)\ncrash 3 not tested  (2 of 2 cells)\n", out.String())
}
