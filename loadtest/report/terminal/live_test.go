package terminal_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/report/terminal"
	"stockapi/loadtest/report/terminal/terminaltest"
)

// The ladder has a grid in one piece on a laptop's and on a projector's terminal, as far as 32 rungs. The test of long
// ladders has more.
func TestTheWholeLadderHasAGridOnSmallTerminals(t *testing.T) {
	var rungs []string
	for _, r := range catalog.Rungs[:32] {
		rungs = append(rungs, r.Number)
	}
	for _, size := range []struct {
		columns, rows int
		head, crash   string
	}{
		{80, 24, `               0 0 1 1 2 3 4 5 5 5 5 6`, "crash          – – L L + +"},
		{120, 40, `0  0  1  1  `, "crash                –  –  L  L  "},
		{200, 50, `v0  v0.5 v1  v1.5 v2  v3  v4  v5  v5-     v5.5`, "crash                    –   –    L   L    ok  ok"},
	} {
		t.Run(fmt.Sprint(size.columns), func(t *testing.T) {
			screen, p := started(t, size.columns, size.rows, nil, rungs)
			specs, err := catalog.Select(nil, rungs, 2, 1)
			require.NoError(t, err)
			seen, heads := "", headsOf(screen)
			for _, s := range specs {
				finish(p, asExpected(s.Scenario.Name, s.Rung.Number))
				now := screen.String()
				assert.LessOrEqual(t, strings.Count(now, "\n")+1, size.rows, now)
				assert.LessOrEqual(t, widest(now), size.columns-1, now)
				assert.Equal(t, heads, headsOf(screen), "no column is shifted by %s", s.Scenario.Name)
				if s.Scenario.Name == "late-release" {
					seen = now
				}
			}
			assert.Contains(t, seen, size.head)
			assert.Contains(t, seen, size.crash)
			assert.Contains(t, seen, "\nslow-work ")
			last := screen.String()
			assert.Contains(t, last, "\nstock-failover ", "the grid follows the cells under way")
			p.Close()
			assert.Equal(t, strings.TrimSpace(before), screen.String(), "nothing is left")
		})
	}
}

// shown matches which scenarios are shown, before the heads.
var shown = regexp.MustCompile(`^\d+–\d+ of \d+`)

// headsOf returns the first line of the heads of a grid.
func headsOf(screen *terminaltest.Screen) string {
	_, grid, _ := strings.Cut(screen.String(), "· to come")
	lines := strings.Split(grid, "\n")
	return shown.ReplaceAllStringFunc(lines[min(1, len(lines)-1)], func(s string) string {
		return strings.Repeat(" ", utf8.RuneCountInString(s))
	})
}

func TestTheTimeThatHasPassedAndTheRest(t *testing.T) {
	var passed atomic.Int64
	screen := terminaltest.New(120, 40)
	p := terminal.NewProgress(screen, &terminal.Terminal{Size: screen.Size, Now: func() time.Time {
		return time.Time{}.Add(time.Duration(passed.Load()))
	}})
	defer p.Close()
	specs, err := catalog.Select(nil, nil, 2, 1)
	require.NoError(t, err)
	p.Expect(specs)
	assert.Contains(t, screen.String(), "0:00, about 2:20 left: 0 of 658 cells")
	pass := func(cells []catalog.Spec, each time.Duration) {
		for _, s := range cells {
			passed.Add(int64(each))
			finish(p, asExpected(s.Scenario.Name, s.Rung.Number))
		}
	}
	crowds := 0
	for crowds < len(specs) && specs[crowds].Scenario.Crowd {
		crowds++
	}
	pass(specs[:crowds], 2*time.Second)
	assert.Regexp(t, `\n2:12, about 1:30 left: 66 of 658 cells; `, screen.String())
	pass(specs[crowds:crowds+200], 300*time.Millisecond)
	assert.Regexp(t, `\n3:12, about 1:50 left: 266 of 658 cells; `, screen.String(), "the machine is slow")
	pass(specs[crowds+200:], 300*time.Millisecond)
	assert.Regexp(t, `\n5:09: 658 of 658 cells; `, screen.String())
}

// Two rungs do not look the same above the columns.
func TestTheHeadsOfNarrowColumnsDiffer(t *testing.T) {
	text := printed(wholeRun(t), terminal.Printer{}, terminal.Outcome{})
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if !strings.HasPrefix(line, "5 as: ") {
			continue
		}
		numbers, rests, crash := []rune(lines[i+1]), []rune(lines[i+2]), []rune(lines[i+3])
		seen := map[string]bool{}
		for at := slices.Index(numbers, '0'); at < len(crash); at++ {
			if at >= len(numbers) || numbers[at] == ' ' || numbers[at-1] != ' ' {
				continue
			}
			head := string(numbers[at:min(at+2, len(numbers))])
			if at < len(rests) {
				head += string(rests[at:min(at+2, len(rests))])
			}
			assert.False(t, seen[head], head)
			seen[head] = true
		}
		assert.Len(t, seen, len(catalog.Rungs))
		return
	}
	t.Fatal("there is no narrow grid")
}
