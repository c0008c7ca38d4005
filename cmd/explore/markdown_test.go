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

	"stockapi/internal/backend/backendtest"
	"stockapi/internal/explore"
	"stockapi/internal/lock"
	"stockapi/loadtest/history"
	"stockapi/loadtest/schedule"
)

const ladder = "../../docs/ladder.md"

// rowsIn returns the rows of the table in docs/ladder.md, and the verdicts of its columns.
func rowsIn(t *testing.T) (rows []string, verdicts []history.Verdict) {
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
		if strings.HasPrefix(line, "| rung |") {
			for _, name := range strings.Split(line, "|")[3:] {
				verdicts = append(verdicts, history.Verdict(strings.TrimSpace(name)))
			}
		}
	}
	return rows, verdicts[:max(0, len(verdicts)-1)]
}

// tracesIn finds the traces of a row.
var tracesIn = regexp.MustCompile("`(v[^`]+)`")

// kindsIn returns the kinds of faults in the traces of a row. Each trace has one fault or none.
func kindsIn(row string) (kinds []explore.FaultKind) {
	for _, k := range explore.FaultKinds {
		if regexp.MustCompile("[.:]" + k.Name + "[-.`]").MatchString(row) {
			kinds = append(kinds, k)
		}
	}
	return kinds
}

// docs/ladder.md shows the shortest ways to break each rung. Here each trace is replayed. Each rung with one lock
// server is also explored again under the kinds of faults of its row, and has to come to the same row. `make
// counterexamples` makes the table anew, under all kinds.
func TestTheShortestWaysInTheDocuments(t *testing.T) {
	backendtest.Long(t)
	t.Parallel()
	rows, verdicts := rowsIn(t)
	var rungs, all []string
	for _, row := range rows {
		rungs = append(rungs, strings.Fields(row)[1])
	}
	for _, r := range lock.Ladder() {
		if explore.IsExplorable(r) {
			all = append(all, r.Number)
		}
	}
	assert.Equal(t, all, rungs, "make counterexamples")
	for _, row := range rows {
		rung := strings.Fields(row)[1]
		said := tracesReplayed(t, row, verdicts)
		r, err := lock.Find(rung)
		require.NoError(t, err)
		if testing.Short() || slices.Contains(r.Needs, lock.NeedRedlock) {
			assert.Contains(t, append(said, nothingFound), strings.TrimSpace(strings.Split(row, "|")[2]))
			continue
		}
		tasks := []*task{{rung: rung, bounds: explore.DefaultBounds()}}
		for _, kind := range kindsIn(row) {
			tasks = append(tasks, &task{rung: rung, bounds: explore.DefaultBounds().With(1, kind)})
		}
		for _, one := range tasks {
			one.cell, one.err = explore.Explore(t, rung, one.bounds)
			require.NoError(t, one.tell(t), rung)
		}
		assert.Equal(t, shortestOf(tasks)[0].row(verdicts), row, "make counterexamples")
	}
}

// tracesReplayed runs the traces of a row, each of which has to break the verdict of its column, and returns the
// sentences about them.
func tracesReplayed(t *testing.T, row string, verdicts []history.Verdict) (said []string) {
	t.Helper()
	columns := strings.Split(row, "|")[3:]
	require.Len(t, columns, len(verdicts)+1, row)
	for i, v := range verdicts {
		parts := tracesIn.FindStringSubmatch(columns[i])
		if parts == nil {
			continue
		}
		trace, err := schedule.ParseTrace(parts[1])
		require.NoError(t, err, row)
		story, err := explore.Replay(t, trace, explore.DefaultBounds())
		require.NoError(t, err, row)
		require.True(t, story.Breaks(v), "%s: %s", trace, v)
		for _, one := range story.Broken {
			if one.Verdict == v {
				said = append(said, story.Until(len(trace.Steps)).Sentence(one))
			}
		}
	}
	return said
}

func TestATableIsPutBetweenItsMarks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "found.md")
	require.NoError(t, os.WriteFile(path, []byte("before\n"+tableBegins+"old\n"+tableEnds+"after\n"), 0o600))
	code, _, errs := explored(t, "--rungs", "v0,v4", "--markdown", path)
	require.Equal(t, asExpected, code, errs)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "before\n"+tableBegins+"\n| rung | the shortest of all, in a sentence | stock |\n|---|---|---|\n"+
		"| v0 | Bert sold unit 1 at step 3; Anna sold unit 1 again at step 4 | **`v0:abba`** |\n"+
		"| v4 | no violation within these bounds | |\n\n"+tableEnds+"after\n", string(text))
	require.NoError(t, os.WriteFile(path, []byte("before\n"), 0o600))
	code, _, errs = explored(t, "--rungs", "v0", "--markdown", path)
	assert.Equal(t, couldNotRun, code)
	assert.Contains(t, errs, "has no lines")
	assert.Equal(t, 1, strings.Count(errs, "\n"))
}
