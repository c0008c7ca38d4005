package main

import (
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/backend/backendtest"
	"stockapi/loadtest/audit"
	"stockapi/loadtest/history"
	"stockapi/loadtest/report/html"
)

func readFile(t *testing.T, path ...string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(path...))
	require.NoError(t, err)
	return string(data)
}

func namesIn(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// The files of a run of one cell, and the output of audit and report for them.
func TestResultsOfARun(t *testing.T) {
	shop, dir := bigShop(), filepath.Join(t.TempDir(), "new", "dir")
	code, said, stderr := loadtest(t, "--targets", shop.serve(t)+"/", "--scenarios", "one-instance,two-instances",
		"--rungs", "v4", "--requests", "137", "--out", dir)
	require.Equal(t, asExpected, code, said+stderr)
	assert.Contains(t, said, "nothing was started here")
	assert.Contains(t, said, "needs two targets")
	assert.Contains(t, said, "as expected (1 of 1 cells; 1 not run)")
	assert.Equal(t, 137+1, shop.arrived(), "137 buyers, and a probe")
	assert.Equal(t, []string{"matrix.txt", "report.html", "results.jsonl.gz"}, namesIn(t, dir))
	recorded, err := history.Open(dir)
	require.NoError(t, err)
	assert.Equal(t, history.Tally{Buyers: 137, Sold: 100, Refused: 37}, recorded.Cells[0].Tally())

	t.Run("an audit prints the output of the run", func(t *testing.T) {
		code, again, _ := loadtest(t, "audit", dir)
		assert.Equal(t, asExpected, code)
		assert.Equal(t, said, again)
		_, verbose, _ := loadtest(t, "audit", "--verbose", dir)
		page := "page: " + filepath.Join(dir, "report.html") + "\n" // which lies beside it
		assert.Equal(t, readFile(t, dir, "matrix.txt"), strings.Replace(verbose, page, "", 1))
	})
	t.Run("a report of the file is the page", func(t *testing.T) {
		_, _, stderr := loadtest(t, "report", filepath.Join(dir, history.Results))
		assert.Equal(t, readFile(t, dir, "report.html"), readFile(t, dir, "results.html"), stderr)
	})
	t.Run("an audit trusts no verdict", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "forged.jsonl") // a unit sold twice, under verdicts of ok
		forged := strings.Replace(unpacked(t, dir), `"units":[41]`, `"units":[42]`, 1)
		require.NoError(t, os.WriteFile(file, []byte(forged), 0o600))
		code, stdout, _ := loadtest(t, "audit", file)
		assert.Equal(t, surprised, code)
		assert.Contains(t, stdout, "BROKEN stock")
		assert.Contains(t, stdout, "the file's own verdict differs: one-instance v4 lua-release: stock "+
			"was recorded as ok and is BROKEN")
	})
	for name, c := range map[string]struct {
		change func(*history.Run)
		want   int
	}{
		"unchanged":       {func(*history.Run) {}, asExpected},
		"a surprise":      {func(r *history.Run) { r.Cells[0].Rung = "v0" }, surprised},
		"another verdict": {func(r *history.Run) { r.Cells[0].Findings[0].Result = history.Broken }, surprised},
		"interrupted":     {func(r *history.Run) { r.Interrupted = "interrupted" }, couldNotRun},
		"no cells ran": {func(r *history.Run) {
			r.Cells[0].NotTested, r.Cells[0].Findings = &history.NotTested{Reason: "needs five nodes"}, nil
		}, couldNotRun},
	} {
		t.Run("the exit code, "+name, func(t *testing.T) {
			run, err := history.Open(dir)
			require.NoError(t, err)
			c.change(run)
			file := filepath.Join(t.TempDir(), "r.jsonl.gz")
			require.NoError(t, history.Write(file, run))
			for _, command := range []string{"audit", "report"} {
				code, stdout, stderr := loadtest(t, command, file)
				assert.Equal(t, c.want, code, command+stdout+stderr)
			}
		})
	}
	require.NoError(t, os.Remove(filepath.Join(dir, "report.html")))
	_, again, _ := loadtest(t, "audit", dir)
	assert.Contains(t, said, "report.html")
	assert.NotContains(t, again, "report.html", "there is no such page")
}

// unpacked returns the lines of a run's histories.
func unpacked(t *testing.T, dir string) string {
	t.Helper()
	z, err := gzip.NewReader(strings.NewReader(readFile(t, dir, history.Results)))
	require.NoError(t, err)
	text, err := io.ReadAll(z)
	require.NoError(t, err)
	return string(text)
}

// A run of more orders than are kept in memory is judged like any other, also from its file, and leaves only results.
func TestResultsLargerThanMemory(t *testing.T) {
	backendtest.Long(t)
	t.Parallel()
	dir := t.TempDir()
	code, stdout, stderr := loadtest(t, "--targets", bigShop().serve(t), "--rungs", "v4", "--scenarios", "one-instance",
		"--requests", "25000", "--out", dir)
	require.Equal(t, asExpected, code, stderr)
	assert.Len(t, namesIn(t, dir), 3)
	code, again, stderr := loadtest(t, "audit", dir)
	assert.Equal(t, asExpected, code, stderr)
	assert.Equal(t, stdout, again)
}

// forgedRun writes a file of two cells with one unit: a good one, and one that sold it twice.
func forgedRun(t *testing.T) (file string) {
	t.Helper()
	left := int64(0)
	sale := func(order string, done history.Instant) history.Op {
		return history.Op{
			Order: order, Instance: "a", Outcome: history.Sold, Sent: done - 1, Done: done, Quantity: 1, Units: []int64{1},
		}
	}
	twice := []history.Op{sale("one", 1000), sale("two", 2000)}
	cells := []*history.Cell{
		{Scenario: "one-instance", Rung: "v4", Name: "lua-release", Initial: 1, Left: &left, Ops: twice[:1]},
		{Scenario: "one-instance", Rung: "v0", Name: "nolock", Initial: 1, Left: &left, Ops: twice},
	}
	for _, c := range cells {
		c.Findings, c.Coverage = audit.Judge(c, history.TimelineOf(c, history.Terms{}))
	}
	file = filepath.Join(t.TempDir(), history.Results)
	require.NoError(t, history.Write(file, &history.Run{ID: "1", Cells: cells}))
	return file
}

// A report depends on its file alone, and is the same wherever it is written. The directory of a run works as its file.
func TestReportOfAFile(t *testing.T) {
	file := forgedRun(t)
	dir, elsewhere := filepath.Dir(file), filepath.Join(t.TempDir(), "x.html")
	for _, args := range [][]string{{file}, {dir}, {file, "-o", elsewhere}, {file, "-o", elsewhere}} {
		code, stdout, stderr := loadtest(t, append([]string{"report"}, args...)...)
		assert.Equal(t, surprised, code, stderr)
		assert.Regexp(t, `wrote .*(results|report|x)\.html\n`, stdout)
	}
	doc := readFile(t, dir, "results.html")
	assert.Equal(t, doc, readFile(t, elsewhere))
	assert.Equal(t, doc, readFile(t, dir, "report.html"))
	assert.Contains(t, doc, "<!doctype html>")
	assert.Len(t, namesIn(t, dir), 3, "the file, and the pages")
}

func TestReportUnwritable(t *testing.T) {
	file := forgedRun(t)
	code, _, _ := loadtest(t, "report", file, "-o", filepath.Join(filepath.Dir(file), "missing", "x.html"))
	assert.Equal(t, couldNotRun, code)
	code, _, stderr := loadtest(t, "report", file, "-o", os.DevNull)
	assert.Equal(t, surprised, code, stderr)
	assert.Len(t, namesIn(t, filepath.Dir(file)), 1, "the file alone")
}

// Errors take one line.
func TestReportErrors(t *testing.T) {
	cut := filepath.Join(t.TempDir(), "cut.gz")
	require.NoError(t, os.WriteFile(cut, []byte(`{"format":"stock`), 0o600))
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{cut}, "not a usable history: it is cut short"},
		{[]string{"/nonexistent"}, "/nonexistent"},
	} {
		code, _, stderr := loadtest(t, append([]string{"report"}, c.args...)...)
		assert.Equal(t, couldNotRun, code)
		assert.Contains(t, stderr, c.says)
		assert.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
	}
}

func TestReportKnowsTheDefaults(t *testing.T) {
	c, _, err := parse(nil, io.Discard, io.Discard)
	require.NoError(t, err)
	f := c.Run
	assert.Equal(t, history.Load{
		Requests: f.Requests, Concurrency: f.Concurrency, Stock: f.Stock, Wait: f.Wait, TTL: f.TTL, Work: f.Work,
	}, html.Defaults)
}

// A played cell of a trial is explained again, even if it was inconclusive. One that was not played stays as it is.
func TestTrialsAreExplainedAgain(t *testing.T) {
	release := history.Command{Cmd: "del", Key: "lock", Source: history.Looked, Effect: history.EffectReleased,
		At: 2, End: 3}
	anna := history.Op{Order: "anna", Phase: history.Buy, Outcome: history.Busy, Trace: []history.Command{release}}
	c := &history.Cell{Kind: history.Trial, Scenario: "busy", Rung: "shop.py", Ops: []history.Op{anna},
		Facts:     &history.Facts{Locks: []string{"lock"}},
		NotTested: &history.NotTested{Reason: "Anna had not tried the lock yet"}}
	differ := strings.Join(rejudge([]*history.Cell{c}), "\n")
	assert.Contains(t, differ, `busy shop.py: "" was recorded and is "it releases a lock that it never held"`)
	assert.Contains(t, differ, `"Anna had not tried the lock yet" was recorded and is ""`)
	assert.Equal(t, "it releases a lock that it never held", c.Defect.Cause)

	notPlayed := &history.Cell{Kind: history.Trial, NotTested: &history.NotTested{Reason: "the lock has no TTL"}}
	assert.Empty(t, rejudge([]*history.Cell{notPlayed}))
	assert.Equal(t, "the lock has no TTL", notPlayed.WhyNot())
}
