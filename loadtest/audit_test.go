package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/history"
)

// What judges a file again ends as the run itself did.
func TestTheExitCodesOfAFile(t *testing.T) {
	dir := t.TempDir()
	code, _, stderr := loadtest(t, "--targets", newFakeShop(t).URL, "--rungs", "v4", "--scenarios", "one-instance",
		"--out", dir)
	require.Equal(t, asExpected, code, stderr)
	good, err := history.Read(dir)
	require.NoError(t, err)
	for name, c := range map[string]struct {
		change func(*history.Run)
		want   int
	}{
		"as it was":       {func(*history.Run) {}, asExpected},
		"a surprise":      {func(r *history.Run) { r.Cells[0].Rung = "v0" }, surprised},
		"another verdict": {func(r *history.Run) { r.Cells[0].Findings[0].Result = history.Broken }, surprised},
		"interrupted":     {func(r *history.Run) { r.Interrupted = "interrupted" }, couldNotRun},
		"no cells ran": {func(r *history.Run) {
			r.Cells[0].NotRun, r.Cells[0].Findings = "needs five nodes", nil
		}, couldNotRun},
	} {
		t.Run(name, func(t *testing.T) {
			run := *good
			cell := *good.Cells[0]
			cell.Findings = append([]history.Finding{}, cell.Findings...)
			run.Cells = []*history.Cell{&cell}
			c.change(&run)
			file := filepath.Join(t.TempDir(), "r.jsonl.gz")
			require.NoError(t, history.Write(file, &run))
			for _, command := range []string{"audit", "report"} {
				code, stdout, stderr := loadtest(t, command, file)
				assert.Equal(t, c.want, code, command+stdout+stderr)
			}
		})
	}
}

// The page that a run leaves is the one that its file makes.
func TestTheFileOfARunMakesItsPage(t *testing.T) {
	dir := t.TempDir()
	shop := newFakeShop(t)
	shop.oversell = true
	_, _, _ = loadtest(t, "--targets", shop.URL, "--rungs", "v4", "--scenarios", "one-instance", "--out", dir)
	page, err := os.ReadFile(filepath.Join(dir, "report.html"))
	require.NoError(t, err)
	_, _, stderr := loadtest(t, "report", filepath.Join(dir, history.Results))
	again, err := os.ReadFile(filepath.Join(dir, "results.html"))
	require.NoError(t, err, stderr)
	assert.Equal(t, string(page), string(again))
}

// A run of more orders than memory holds is judged as any other, also from its file, and leaves nothing but its
// results.
func TestARunThatMemoryDoesNotHold(t *testing.T) {
	dir := t.TempDir()
	code, stdout, stderr := loadtest(t, "--targets", newFakeShop(t).URL, "--rungs", "v4", "--scenarios", "one-instance",
		"--requests", "25000", "--out", dir)
	require.Equal(t, asExpected, code, stderr)
	assert.Equal(t, []string{"matrix.txt", "report.html", "results.jsonl.gz"}, namesIn(t, dir))
	code, again, stderr := loadtest(t, "audit", dir)
	assert.Equal(t, asExpected, code, stderr)
	assert.Equal(t, stdout, again)
}

// A directory that is judged again still says where its page is.
func TestAnAuditOfADirectorySaysWhereItsPageIs(t *testing.T) {
	dir := t.TempDir()
	_, said, _ := loadtest(t, "--targets", newFakeShop(t).URL, "--rungs", "v4", "--scenarios", "one-instance",
		"--out", dir)
	code, again, stderr := loadtest(t, "audit", dir)
	assert.Equal(t, asExpected, code, stderr)
	assert.Equal(t, said, again)
	require.NoError(t, os.Remove(filepath.Join(dir, "report.html")))
	_, again, _ = loadtest(t, "audit", dir)
	assert.NotContains(t, again, "report.html")
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
