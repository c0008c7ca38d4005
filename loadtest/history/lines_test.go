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
	c, s := crowded(t, 10)
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
		require.Equal(t, c.head(), withoutStore(got.Cells[i].head()))
		c, got := *want, *got
		c.Cells, got.Cells = nil, nil
		require.Equal(t, c, got)
	}
}

func withoutStore(h *head) *head {
	h.stored = nil
	return h
}

func written(t *testing.T, run *Run, version int) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, encode(&b, run, version))
	return b.String()
}

func read(t *testing.T, content string) (*Run, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "f")
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	s := NewSpool(t.TempDir())
	s.room = 10
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

func TestEveryFormIsReadAsItWasWritten(t *testing.T) {
	run := runOf(t, 1000)
	for _, version := range []int{Document, Lines} {
		text := written(t, run, version)
		for _, content := range []string{text, zipped(t, text)} {
			got, err := read(t, content)
			require.NoError(t, err)
			same(t, bare(run), got)
		}
	}
}

// bare is the run without what is known of its spool.
func bare(run *Run) *Run {
	out := *run
	out.Cells = nil
	for _, c := range run.Cells {
		whole := *c
		whole.stored, whole.Ops = nil, nil
		for _, op := range c.All() {
			whole.Ops = append(whole.Ops, *op)
		}
		out.Cells = append(out.Cells, &whole)
	}
	return &out
}

func TestADocumentIsOneAndHasAnOrderALine(t *testing.T) {
	text := written(t, runOf(t, 100), Document)
	var whole struct {
		Version int `json:"version"`
		Run     struct {
			Cells []struct {
				Ops []Op `json:"ops"`
			} `json:"cells"`
		} `json:"run"`
	}
	require.NoError(t, json.Unmarshal([]byte(text), &whole), "any reader of JSON reads it, older ones of this program too")
	assert.Equal(t, 1, whole.Version)
	assert.Len(t, whole.Run.Cells[0].Ops, 100)
	assert.Equal(t, 102, strings.Count(text, "\n"+`{"order":`))
}

func TestLinesAreEachAValue(t *testing.T) {
	text := strings.TrimSpace(written(t, runOf(t, 100), Lines))
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
	text := written(t, runOf(t, 20), Lines)
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
	refused(text+"x", "not valid JSON")
	refused(strings.Replace(text, `"cells":3`, `"cells":2`, 1), "its end and its head do not say the same")
	refused(strings.Join(lines[:2], "")+lines[2]+strings.Join(lines[2:], ""), "cell 1 has more orders than its head says")
	refused(strings.ReplaceAll(text, `"cells":3,"ops":22`, `"cells":4,"ops":22`), "3 cells where its head says 4")
	refused(strings.ReplaceAll(text, `"cells":3,"ops":22`, `"cells":3,"ops":23`), "22 orders where its head says 23")
	refused(strings.Replace(text, `"order":"x"`, `"order":5`, 1), "cannot unmarshal")
}

func TestALargeRunIsWrittenAsLines(t *testing.T) {
	small, large := runOf(t, 100), runOf(t, 100)
	for range Large {
		require.NoError(t, large.Cells[0].Add(&Op{Order: "o"}))
	}
	assert.Equal(t, "results.json", Name("results.json", small))
	medium := runOf(t, 1)
	require.NoError(t, medium.Cells[0].Add(&Op{Detail: strings.Repeat("x", Packed)}))
	assert.Equal(t, "results.json.gz", Name("results.json", medium))
	assert.Equal(t, "results.jsonl.gz", Name("results.json", large))
	for _, c := range []struct {
		name  string
		run   *Run
		begin string
	}{
		{"a.json", small, `{"format":"stockapi-history","version":1,`},
		{"b.json", large, `{"format":"stockapi-history","version":2,`},
		{"a.json.gz", small, "\x1f\x8b"}, {"b.gz", large, "\x1f\x8b"},
	} {
		path := filepath.Join(t.TempDir(), c.name)
		require.NoError(t, Write(path, c.run))
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.True(t, strings.HasPrefix(string(content), c.begin), c.name)
		s := NewSpool(t.TempDir())
		got, err := Open(path, s)
		require.NoError(t, err)
		assert.Equal(t, c.run.ops(), got.ops())
		assert.Equal(t, c.run == large, got.Cells[0].onDisk())
		require.NoError(t, s.Close())
	}
}

// A file is not written from orders that could not be read again.
func TestNoFileLacksWhatCouldNotBeReadAgain(t *testing.T) {
	run := runOf(t, 5000)
	require.NoError(t, run.Cells[0].stored.spool.file.Truncate(0))
	path := filepath.Join(t.TempDir(), "f")
	require.ErrorContains(t, Write(path, run), "cannot be read again")
	assert.NoFileExists(t, path)
}
