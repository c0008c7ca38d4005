package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/explore"
	"stockapi/internal/lock"
)

const ladder = "../../docs/ladder.md"

// rowsIn returns the rows of the table in docs/ladder.md.
func rowsIn(t *testing.T) (rows []string) {
	t.Helper()
	text, err := os.ReadFile(ladder)
	require.NoError(t, err)
	_, table, begins := strings.Cut(string(text), tableBegins)
	table, _, ends := strings.Cut(table, tableEnds)
	require.True(t, begins && ends)
	for line := range strings.Lines(table) {
		if strings.HasPrefix(line, "| v") {
			rows = append(rows, line)
		}
	}
	return rows
}

// underIn finds the kind of fault in a row.
var underIn = regexp.MustCompile(`under \*([a-z-]+)\*`)

// docs/ladder.md shows the shortest way to break each rung. Here each trace is replayed, and has to break its verdict in
// the same words. Each rung with one lock server is also explored again under the kind of fault of its row, and has to
// come to the same row. `make counterexamples` makes the table anew, under all kinds.
func TestTheShortestWaysInTheDocuments(t *testing.T) {
	rows := rowsIn(t)
	var rungs []string
	for _, row := range rows {
		rungs = append(rungs, strings.Fields(row)[1])
	}
	var all []string
	for _, r := range lock.Ladder() {
		if explore.IsExplorable(r) {
			all = append(all, r.Number)
		}
	}
	assert.Equal(t, all, rungs, "make counterexamples")
	if testing.Short() {
		t.Skip("explores every rung")
	}
	for _, row := range rows {
		rung, bounds := strings.Fields(row)[1], explore.DefaultBounds()
		if under := underIn.FindStringSubmatch(row); under != nil {
			i := slices.IndexFunc(explore.FaultKinds, func(k explore.FaultKind) bool { return k.Name == under[1] })
			require.GreaterOrEqual(t, i, 0, row)
			bounds = bounds.With(1, explore.FaultKinds[i])
		}
		one := &task{rung: rung, bounds: bounds}
		if r, err := lock.Find(rung); err == nil && slices.Contains(r.Needs, lock.NeedRedlock) {
			one.cell = replayed(t, row, bounds)
		} else {
			one.cell, one.err = explore.Explore(t, rung, bounds)
		}
		require.NoError(t, one.tell(t), rung)
		assert.Equal(t, shortestOf([]*task{one})[0].row(), row, "make counterexamples")
	}
}

// replayed returns what the trace of a row breaks, if that is the verdict of the row.
func replayed(t *testing.T, row string, b explore.Bounds) explore.Cell {
	t.Helper()
	cell := explore.Cell{Fault: explore.FaultNames(b)}
	parts := strings.Split(row, "`")
	if len(parts) < 3 {
		return cell // it has no violation
	}
	trace, err := explore.ParseTrace(parts[1])
	require.NoError(t, err, row)
	story, err := explore.Replay(t, trace, b)
	require.NoError(t, err, row)
	for _, v := range story.Broken {
		if strings.Contains(row, "| "+string(v.Verdict)) {
			cell.Found = append(cell.Found, explore.Counterexample{Violation: v, Trace: trace, Faults: b.Faults})
		}
	}
	require.Len(t, cell.Found, 1, row)
	return cell
}

func TestATableIsPutBetweenItsMarks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "found.md")
	require.NoError(t, os.WriteFile(path, []byte("before\n"+tableBegins+"old\n"+tableEnds+"after\n"), 0o600))
	code, _, errs := explored(t, "--rungs", "v0,v4", "--markdown", path)
	require.Equal(t, asExpected, code, errs)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "before\n"+tableBegins+"\n| rung | breaks | how | steps | trace |\n|---|---|---|---|---|\n"+
		"| v0 | stock | b sold unit 1 at step 3; a sold unit 1 again at step 4 | 4 | `v0:abba` |\n"+
		"| v4 | – | no violation within these bounds | | |\n\n"+tableEnds+"after\n", string(text))
	require.NoError(t, os.WriteFile(path, []byte("before\n"), 0o600))
	code, _, errs = explored(t, "--rungs", "v0", "--markdown", path)
	assert.Equal(t, couldNotRun, code)
	assert.Contains(t, errs, "has no lines")
	assert.Equal(t, 1, strings.Count(errs, "\n"))
}
