package history

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// runOf is a run of a cell with that many orders and one with a few, on disk but for some.
func runOf(t *testing.T, orders int) *Run {
	t.Helper()
	c, s := crowded(t, 5000)
	c.Scenario, c.Start = "two-instances", time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	for i := range orders {
		op := typical(i)
		require.NoError(t, c.Add(&op))
	}
	few := &Cell{Scenario: "crash", Ops: []Op{typical(1), {Order: "x", Done: Never}}}
	few.Keep(s)
	return &Run{ID: "1", Started: c.Start, Cells: []*Cell{c, {NotRun: "needs five nodes"}, few}}
}

// same compares two runs, wherever their orders lie.
func same(t *testing.T, want, got *Run) {
	t.Helper()
	require.Len(t, got.Cells, len(want.Cells))
	for i, c := range want.Cells {
		require.Equal(t, c.Len(), got.Cells[i].Len())
		for j, op := range c.All() {
			require.Equal(t, op, got.Cells[i].At(j))
		}
		one, other := *c, *got.Cells[i]
		one.Ops, one.stored, other.Ops, other.stored = nil, nil, nil, nil
		require.Equal(t, one, other)
	}
	one, other := *want, *got
	one.Cells, other.Cells = nil, nil
	require.Equal(t, one, other)
}

func written(t *testing.T, run *Run) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, encode(&b, run))
	return b.String()
}

func read(t *testing.T, content string) (*Run, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "f")
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	s := NewSpool(t.TempDir())
	s.room = 5000
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return Open(path, s)
}

func zipped(t *testing.T, content string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := io.WriteString(z, content)
	require.NoError(t, err)
	require.NoError(t, z.Close())
	return b.String()
}

func TestWhatLiesOnDiskIsReadAsItWasWritten(t *testing.T) {
	run := runOf(t, 1000)
	text := written(t, run)
	for _, content := range []string{text, zipped(t, text)} {
		got, err := read(t, content)
		require.NoError(t, err)
		assert.True(t, got.Cells[0].onDisk())
		same(t, run, got)
	}
}

func TestLinesAreEachAValue(t *testing.T) {
	text := strings.TrimSpace(written(t, runOf(t, 100)))
	lines := strings.Split(text, "\n")
	assert.Len(t, lines, 1+3+102+1)
	for _, line := range lines {
		require.True(t, json.Valid([]byte(line)), line)
	}
	assert.Contains(t, lines[0], `{"format":"stockapi-history","version":2,"cells":3,"ops":102,"run":{"id":"1"`)
	assert.JSONEq(t, `{"end":{"cells":3,"ops":102}}`, lines[len(lines)-1])
}

// What was lost from lines, on whatever boundary, is noticed.
func TestLinesThatAreNotWholeAreRefused(t *testing.T) {
	if testing.Short() {
		t.Skip("takes longer than a second")
	}
	text := written(t, runOf(t, 20))
	lines := strings.SplitAfter(text, "\n")
	lines = lines[:len(lines)-1]
	without := func(i int) string { return strings.Join(append(append([]string{}, lines[:i]...), lines[i+1:]...), "") }
	refused := func(content, reason string) {
		t.Helper()
		_, err := read(t, content)
		require.ErrorIs(t, err, ErrNotHistory)
		assert.ErrorContains(t, err, reason)
		assert.NotContains(t, err.Error(), "\n", "one line")
	}
	for n := range lines {
		refused(strings.Join(lines[:n], ""), "it is cut short after")
	}
	for n := range text[:len(text)-2] {
		if n%97 == 0 {
			refused(text[:n], "it is cut short after")
		}
	}
	packed := zipped(t, text)
	for n := 2; n < len(packed); n += 101 {
		refused(packed[:n], "it is cut short after")
	}
	refused(packed[:len(packed)-1], "it is cut short after")
	refused(packed[:len(packed)-5]+"x"+packed[len(packed)-4:], "gzip: invalid checksum")
	refused(without(2), "cell 1 lacks 1 orders")
	refused(without(len(lines)-2), "cell 3 lacks 1 orders")
	refused(without(22), "2 cells where its head says 3")
	refused(text+lines[2], "something follows its end")
	refused(text+"x", "it is cut short after")
	refused(strings.Replace(text, `"cells":3`, `"cells":2`, 1), "its end and its head do not say the same")
	refused(strings.Join(lines[:2], "")+lines[2]+strings.Join(lines[2:], ""), "cell 1 has more orders than its head says")
	refused(strings.ReplaceAll(text, `"cells":3,"ops":22`, `"cells":4,"ops":22`), "3 cells where its head says 4")
	refused(strings.ReplaceAll(text, `"cells":3,"ops":22`, `"cells":3,"ops":23`), "22 orders where its head says 23")
	refused(strings.Replace(text, `"order":"x"`, `"order":5`, 1), "cannot unmarshal")
}

// A file is not written from orders that could not be read again.
func TestNoFileLacksWhatCouldNotBeReadAgain(t *testing.T) {
	run := runOf(t, 5000)
	require.NoError(t, run.Cells[0].stored.spool.file.Truncate(0))
	path := filepath.Join(t.TempDir(), "f")
	require.ErrorContains(t, Write(path, run), "cannot be read again")
	assert.NoFileExists(t, path)
}
