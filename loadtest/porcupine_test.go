package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/audit"
	"stockapi/loadtest/history"
)

// oversold writes a file with a cell that sold its one unit twice, and one that is well.
func oversold(t *testing.T) (file string) {
	t.Helper()
	left := int64(0)
	sale := func(order string) history.Op {
		return history.Op{Order: order, Instance: "a", Outcome: history.Sold, Done: 1, Quantity: 1, Units: []int64{1}}
	}
	cells := []*history.Cell{
		{Scenario: "one-instance", Rung: "v0", Initial: 1, Left: &left, Ops: []history.Op{sale("one"), sale("two")}},
		{Scenario: "one-instance", Rung: "v4", Initial: 1, Left: &left, Ops: []history.Op{sale("one")}},
	}
	for _, c := range cells {
		c.Findings, c.Coverage = audit.Judge(c)
	}
	file = filepath.Join(t.TempDir(), "r.jsonl.gz")
	require.NoError(t, history.Write(file, &history.Run{ID: "1", Cells: cells}))
	return file
}

func TestAReportLinksToThePorcupinePagesBesideIt(t *testing.T) {
	file := oversold(t)
	elsewhere := filepath.Join(t.TempDir(), "x.html")
	for _, args := range [][]string{
		{"report", file}, {"report", file, "-o", elsewhere}, {"report", file, "-o", elsewhere},
	} {
		code, _, stderr := loadtest(t, args...)
		assert.Equal(t, surprised, code, stderr)
	}
	for _, report := range []string{filepath.Join(filepath.Dir(file), "r.html"), elsewhere} {
		doc, err := os.ReadFile(report)
		require.NoError(t, err)
		assert.Contains(t, string(doc), `href="porcupine/one-instance-v0.html"`)
		assert.NotContains(t, string(doc), "porcupine/one-instance-v4.html")
		pages, err := os.ReadDir(filepath.Join(filepath.Dir(report), "porcupine"))
		require.NoError(t, err)
		require.Len(t, pages, 1)
		page, err := os.ReadFile(filepath.Join(filepath.Dir(report), "porcupine", pages[0].Name()))
		require.NoError(t, err)
		assert.Contains(t, string(page), "sells unit 1")
	}
}

func TestARunWritesPorcupinePagesToo(t *testing.T) {
	shop, dir := newFakeShop(t), t.TempDir()
	shop.oversell = true
	code, _, stderr := loadtest(t, "--targets", shop.URL, "--rungs", "v4", "--scenarios", "one-instance", "--out", dir)
	assert.Equal(t, surprised, code, stderr)
	assert.FileExists(t, filepath.Join(dir, "porcupine", "one-instance-v4.html"))
}

func TestPorcupinePagesThatCannotBeWrittenAreNotLinkedTo(t *testing.T) {
	file := oversold(t)
	require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(file), "porcupine"), nil, 0o600))
	code, _, stderr := loadtest(t, "report", file)
	assert.Equal(t, couldNotRun, code)
	assert.Contains(t, stderr, "cannot write "+filepath.Join(filepath.Dir(file), "porcupine", "one-instance-v0.html"))
	doc, err := os.ReadFile(filepath.Join(filepath.Dir(file), "r.html"))
	require.NoError(t, err, "the report itself is made all the same")
	assert.NotContains(t, string(doc), "porcupine/")
}

func TestNoPorcupineDirectoryIsMadeInVain(t *testing.T) {
	file := oversold(t)
	code, _, _ := loadtest(t, "report", file, "-o", filepath.Join(filepath.Dir(file), "missing", "x.html"))
	assert.Equal(t, couldNotRun, code)
	code, _, stderr := loadtest(t, "report", file, "-o", os.DevNull)
	assert.Equal(t, surprised, code, stderr)
	assert.NoDirExists(t, filepath.Join(filepath.Dir(os.DevNull), "porcupine"))
	entries, err := os.ReadDir(filepath.Dir(file))
	require.NoError(t, err)
	assert.Len(t, entries, 1, "the file alone")
}
