package terminal_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/history"
	"stockapi/loadtest/report/terminal"
	"stockapi/loadtest/report/terminal/terminaltest"
)

var update = flag.Bool("update", false, "write testdata/*.txt anew")

// These tests are of ladders of any length, so they invent the whole table: its rungs, its scenarios, and what is
// expected. The names are as long as the real ones.
var (
	inventedFaults = []string{
		"crash", "late-release", "check-delete-gap", "pause", "redis-down", "node-failover", "node-failover-delayed",
		"split-brain", "split-brain-min-replicas", "split-brain-in-lag",
	}
	inventedVariants = []string{"", "", ".5", "", "-as-printed", "", "-write-only"}
	gridWidths       = []int{60, 80, 120, 200}
)

// invent has the catalogue hold that many invented rungs while a test runs.
func invent(t *testing.T, rungs int) {
	t.Helper()
	wasRungs, wasTable := catalog.Rungs, catalog.Table
	t.Cleanup(func() { catalog.Rungs, catalog.Table = wasRungs, wasTable })
	catalog.Rungs, catalog.Table = nil, nil
	number := -1
	for i := range rungs {
		variant := inventedVariants[i%len(inventedVariants)]
		if variant == "" {
			number++
		}
		catalog.Rungs = append(catalog.Rungs, catalog.Rung{Number: fmt.Sprintf("v%d%s", number, variant), Name: "invented"})
	}
	for i, name := range append([]string{"two-instances"}, inventedFaults...) {
		s := catalog.Scenario{Name: name, Does: "is invented", Crowd: i == 0, NotApplicable: map[string]string{}}
		for j, r := range catalog.Rungs {
			broken, applies := inventedOutcome(i, j)
			if !applies {
				s.NotApplicable[r.Number] = "it is invented"
				continue
			}
			e := catalog.Expectation{Rung: r.Number, Results: map[history.Verdict]history.Result{}}
			for k, v := range history.Verdicts {
				e.Results[v] = history.OK
				if strings.Contains(broken, string("SERLFOH"[k])) {
					e.Results[v] = history.Broken
				}
			}
			s.Expect = append(s.Expect, e)
		}
		catalog.Table = append(catalog.Table, s)
	}
}

// inventedOutcome returns the letters of what breaks in a cell. Neighbours differ, below each other and side by side.
func inventedOutcome(scenario, rung int) (broken string, applies bool) {
	switch {
	case scenario == 0:
		return "", true
	case scenario == 2 && rung%9 == 3:
		return "SER", true
	}
	outcomes := []string{"", "SE", "L", "–", "S", "", "E"}
	broken = outcomes[(scenario*5+rung*rung+rung/len(outcomes))%len(outcomes)]
	return broken, broken != "–"
}

// grids returns what is printed of the faults, without the last lines.
func grids(t *testing.T, text string) string {
	t.Helper()
	_, grids, found := strings.Cut("\n"+text, "\nfaults")
	require.True(t, found, text)
	grids, _, _ = strings.Cut(grids, "\n--verbose")
	return "faults" + grids
}

// The grids of invented ladders are files. go test -update writes them anew: look at them before you commit them.
func TestTheGridsOfLongLadders(t *testing.T) {
	for _, rungs := range []int{32, 33, 40} {
		t.Run(strconv.Itoa(rungs), func(t *testing.T) {
			invent(t, rungs)
			run := wholeRun(t)
			var out bytes.Buffer
			for _, width := range gridWidths {
				text := printed(run, terminal.Printer{Width: width}, terminal.Outcome{})
				fmt.Fprintf(&out, "%d columns\n%s\n", width, grids(t, text))
			}
			golden(t, fmt.Sprintf("grid-%d.txt", rungs), out.Bytes())
		})
	}
}

// golden compares a text with a file in testdata, after it has written that anew if asked to.
func golden(t *testing.T, name string, text []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.WriteFile(file, text, 0o600))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, string(want), string(text))
}

// While such a run is under way its grid fits the screen, in blocks that show the same scenarios: those under way.
func TestTheLiveGridsOfLongLadders(t *testing.T) {
	for _, rungs := range []int{32, 33, 40} {
		t.Run(strconv.Itoa(rungs), func(t *testing.T) {
			invent(t, rungs)
			specs, err := catalog.Select(nil, nil, 2, 1)
			require.NoError(t, err)
			var out bytes.Buffer
			for _, size := range [][2]int{{60, 24}, {80, 24}, {120, 40}, {200, 50}} {
				screen, p := started(t, size[0], size[1], nil, nil)
				for i, s := range specs {
					if i%9 == 0 {
						fitsTheScreen(t, screen, s.Scenario.Name)
					}
					if i == len(specs)/2 {
						fmt.Fprintf(&out, "%d columns, %d rows\n%s\n\n", size[0], size[1], screen)
					}
					finish(p, asExpected(s.Scenario.Name, s.Rung.Number))
				}
				p.Close()
				assert.Equal(t, strings.TrimSpace(before), screen.String(), "nothing is left")
			}
			golden(t, fmt.Sprintf("live-%d.txt", rungs), out.Bytes())
		})
	}
}

// fitsTheScreen checks that a live grid fits, and that it has a line of the scenario that is under way in each block.
func fitsTheScreen(t *testing.T, screen *terminaltest.Screen, scenario string) {
	t.Helper()
	columns, rows := screen.Size()
	now := screen.String()
	assert.LessOrEqual(t, strings.Count(now, "\n")+1, rows, now)
	assert.LessOrEqual(t, widest(now), columns-1, now)
	assert.Len(t, readGrid(t, now).cells[scenario], len(catalog.Rungs), "%s\n%s", scenario, now)
}

// Where a ladder is long the last 80 lines of a wide terminal still hold all of a run, and a narrow one tells stories.
func TestALongLadderLeavesRoomForStories(t *testing.T) {
	invent(t, 40)
	for i := range 25 {
		s := catalog.Table[len(catalog.Table)-1]
		s.Name = fmt.Sprintf("one-more-%d", i)
		catalog.Table = append(catalog.Table, s)
	}
	run := wholeRun(t)
	text := printed(run, terminal.Printer{Width: 200}, terminal.Outcome{})
	assert.LessOrEqual(t, strings.Count(text, "\n"), 80)
	for _, width := range gridWidths {
		text := printed(run, terminal.Printer{Width: width}, terminal.Outcome{})
		assert.Contains(t, text, "\nwhat went wrong: ", "%d columns", width)
	}
}

// In each form, in short and in full, it is said once why cells were not run.
func TestItIsSaidOnceWhatWasNotRun(t *testing.T) {
	invent(t, 32)
	run := wholeRun(t)
	for _, c := range run.Cells {
		if c.Scenario == "pause" {
			c.NotRun = "needs luck"
		}
	}
	for _, width := range []int{80, 120, 200, 300} {
		for _, verbose := range []bool{false, true} {
			text := printed(run, terminal.Printer{Width: width}, terminal.Outcome{Verbose: verbose})
			assert.Equal(t, 1, strings.Count(text, ": needs luck\n"), "%d columns, verbose: %t", width, verbose)
		}
	}
}

// A name without hyphens is broken where the line ends.
func TestANameWithoutHyphensFitsToo(t *testing.T) {
	const name = "acknowledgementsthatarelost-or-latebyanhourandmore"
	invent(t, 40)
	for i, s := range catalog.Table {
		if s.Name == "pause" {
			catalog.Table[i].Name = name
		}
	}
	run := wholeRun(t)
	for _, width := range []int{40, 60, 120} {
		text := grids(t, printed(run, terminal.Printer{Width: width}, terminal.Outcome{}))
		assert.LessOrEqual(t, widest(text), width, text)
		assert.Len(t, readGrid(t, text).cells[name], 40, text)
	}
}

// A drawnGrid is what a reader finds in the blocks of a grid: all blocks side by side.
type drawnGrid struct {
	numbers []string            // the first line of the heads
	cells   map[string][]string // of each scenario
}

// readGrid reads the blocks of a grid, as a reader would. It joins names that are broken.
func readGrid(t *testing.T, text string) drawnGrid {
	t.Helper()
	grid := drawnGrid{cells: map[string][]string{}}
	lines := strings.Split(text, "\n")
	first := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, "     ") })
	require.GreaterOrEqual(t, first, 0, text)
	inHeads := false
	for i := first; i < len(lines); i++ {
		line := lines[i]
		switch {
		case strings.HasPrefix(line, "     "):
			if !inHeads {
				grid.numbers = append(grid.numbers, strings.Fields(line)...)
			}
			inHeads = true
			continue
		case line != "" && !strings.HasPrefix(line, "─"):
			words := strings.Fields(line)
			for ; i+1 < len(lines) && strings.HasPrefix(lines[i+1], "  ") && !strings.HasPrefix(lines[i+1], "     "); i++ {
				words[0] += strings.TrimSpace(lines[i+1])
			}
			grid.cells[words[0]] = append(grid.cells[words[0]], words[1:]...)
		}
		inHeads = false
	}
	return grid
}

// On any screen each cell of a ladder of any length is there once, in the ladder's order, in a line with the full name
// of its scenario; no line is wider than the screen; and the legend is said once.
func TestEachCellOfALongLadderIsThereOnce(t *testing.T) {
	for _, rungs := range []int{32, 33, 40, 48} {
		invent(t, rungs)
		run := wholeRun(t)
		want := map[string][]string{}
		for i, name := range inventedFaults {
			for j := range catalog.Rungs {
				broken, _ := inventedOutcome(i+1, j)
				if broken == "" {
					broken = "ok"
				}
				want[name] = append(want[name], broken)
			}
		}
		for _, width := range append([]int{40, 50, 100, 140}, gridWidths...) {
			p := terminal.Printer{Width: width}
			var full bytes.Buffer
			terminal.Printer{Writer: &full, Width: width}.Matrix(catalog.Assess(run.Cells))
			for _, text := range []string{printed(run, p, terminal.Outcome{}), full.String()} {
				which := fmt.Sprintf("%d rungs at %d columns\n%s", rungs, width, text)
				assert.Equal(t, 1, strings.Count(strings.Join(strings.Fields(text), " "), "S stock"), which)
				all := grids(t, text)
				assert.LessOrEqual(t, widest(all), width, which)
				grid := readGrid(t, all)
				assert.Equal(t, want, grid.cells, which)
				assert.Equal(t, firstHeads(strings.Contains(all, " v0 ")), grid.numbers, which)
			}
		}
	}
}

// firstHeads returns what is in the first line above the columns, of wide or narrow ones.
func firstHeads(wide bool) []string {
	var heads []string
	for _, r := range catalog.Rungs {
		number, _, variant := strings.Cut(r.Number, "-")
		switch {
		case !wide:
			number, _, _ = strings.Cut(strings.TrimPrefix(number, "v"), ".")
		case variant:
			number += "-"
		}
		heads = append(heads, number)
	}
	return heads
}
