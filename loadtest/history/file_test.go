package history_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/history"
)

func sample() *history.Run {
	left := int64(99)
	return &history.Run{
		ID: "test", Started: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC),
		Cells: []*history.Cell{{
			Scenario: "one-instance", Rung: "v0", Name: "nolock", Repetition: 1, Product: "p",
			Start: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC), Initial: 100, Left: &left,
			Ops: []history.Op{
				{Order: "p-1", Phase: history.Buy, Outcome: history.Sold, Sent: 1, Done: 2, Quantity: 1, Units: []int64{100}},
				{Order: "p-2", Phase: history.Buy, Outcome: history.Unknown, Sent: 1, Done: history.Never, Quantity: 1},
			},
			Findings: []history.Finding{{Verdict: history.Stock, Result: history.Indeterminate}},
		}},
	}
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "h.json")
	require.NoError(t, history.Write(path, sample()))
	run, err := history.Read(path)
	require.NoError(t, err)
	assert.Equal(t, sample(), run)
	assert.False(t, run.Cells[0].Ops[1].Done.Known(), "an answer that never came stays one")
}

func TestUnusableFilesAreRefusedWithTheReason(t *testing.T) {
	path := filepath.Join(t.TempDir(), "h.json")
	require.NoError(t, history.Write(path, sample()))
	good, err := os.ReadFile(path)
	require.NoError(t, err)
	cases := map[string]struct{ content, reason string }{
		"cut short":     {string(good[:len(good)/2]), "cut short after"},
		"empty":         {"", "cut short after 0 bytes"},
		"other version": {strings.Replace(string(good), `"version":1`, `"version":3`, 1), "version 3"},
		"other format":  {`{"format":"k6","version":1}`, `format is "k6"`},
		"no JSON":       {"left: 0\n", "not valid JSON"},
		"lost an order": {strings.Replace(string(good), `"ops":2`, `"ops":3`, 1), "2 orders where its head says 3"},
		"lost a cell":   {strings.Replace(string(good), `"cells":1`, `"cells":2`, 1), "1 cells where its head says 2"},
		"no cells":      {`{"format":"stockapi-history","version":1}`, "no cells"},
		"null cell":     {`{"format":"stockapi-history","version":1,"cells":1,"run":{"cells":[null]}}`, "cell 1 is missing"},
		"wrong types":   {`{"format":"stockapi-history","version":1,"cells":1,"run":{"cells":"x"}}`, "cannot unmarshal"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "h.json")
			require.NoError(t, os.WriteFile(path, []byte(c.content), 0o600))
			_, err := history.Read(path)
			require.ErrorIs(t, err, history.ErrNotHistory)
			assert.ErrorContains(t, err, c.reason)
			assert.NotContains(t, err.Error(), "\n", "one line")
		})
	}
}

func TestAWriteThatFailsLeavesTheOldFileAndNoOther(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "h.json")
	require.NoError(t, os.WriteFile(path, []byte("old"), 0o600))
	full := errors.New("disk full")
	err := history.WriteFile(path, func(w io.Writer) error {
		_, _ = io.WriteString(w, "half of")
		return full
	})
	require.ErrorIs(t, err, full)
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "old", string(content))
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, entries, 1)
}

func TestAWriteGoesThroughToADevice(t *testing.T) {
	if _, err := os.Stat(os.DevNull); err != nil {
		t.Skip(err)
	}
	require.NoError(t, history.Write(os.DevNull, sample()))
}

func TestInstants(t *testing.T) {
	start := time.Now()
	assert.Equal(t, history.Instant(2*time.Second), history.At(start, start.Add(2*time.Second)))
	assert.Equal(t, history.Never, history.At(start, time.Time{}), "an absent time is no time")
	assert.Equal(t, "+2.314 s", history.Instant(2314*time.Millisecond).String())
	assert.Equal(t, "never", history.Never.String())
	var i history.Instant
	require.Error(t, i.UnmarshalJSON([]byte(`"soon"`)))
}

func TestTallyCountsBuyersAndNotProbes(t *testing.T) {
	c := &history.Cell{Ops: []history.Op{
		{Phase: history.Buy, Outcome: history.Sold, Units: []int64{5}},
		{Phase: history.Buy, Outcome: history.Sold, Units: []int64{5}},
		{Phase: history.Buy, Outcome: history.Sold, Units: []int64{5, 4}},
		{Phase: history.Buy, Outcome: history.Refused},
		{Phase: history.Buy, Outcome: history.Busy},
		{Phase: history.Buy, Outcome: history.NotSold},
		{Phase: history.Buy, Outcome: history.Unknown},
		{Phase: history.Probe, Outcome: history.Refused},
	}}
	assert.Equal(t, history.Tally{Buyers: 7, Sold: 3, Refused: 1, Busy: 1, NotSold: 1, Unknown: 1}, c.Tally())
	assert.Equal(t, 1, c.SoldTwice(), "one unit, however often")
}
