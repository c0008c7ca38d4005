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

// A run can also be opened by its directory.
func TestFileRoundTrip(t *testing.T) {
	dir := t.TempDir()
	_, err := history.Open(dir)
	require.ErrorIs(t, err, os.ErrNotExist)
	path := filepath.Join(dir, history.Results)
	require.NoError(t, history.Write(path, sample()))
	for _, path := range []string{dir, path} {
		run, err := history.Open(path)
		require.NoError(t, err)
		assert.Equal(t, sample(), run)
		assert.False(t, run.Cells[0].Ops[1].Done.Known(), "a missing answer stays missing")
	}
}

func TestUnusableFilesAreRefusedWithTheReason(t *testing.T) {
	const head = `{"format":"stockapi-history","version":4`
	for name, c := range map[string]struct{ content, reason string }{
		"empty": {"", "cut short after 0 bytes"},
		"older format": {`{"format":"stockapi-history","version":1,"cells":1,"run":{"cells":[` + "\n{}]}}\n",
			"repeat the run"},
		"the format before": {`{"format":"stockapi-history","version":3,"run":5}` + "\n", "an older loadtest wrote it"},
		"later version":     {`{"format":"stockapi-history","version":5,"run":5}` + "\n", "version 5"},
		"other format":      {`{"format":"k6","version":1}` + "\n", `format is "k6"`},
		"no JSON":           {"left: 0\n", "it is not JSON from byte 1 on"},
		"an array":          {"[]\n", "it is an array, not an object"},
		"too many units": {head + `,"cells":1,"ops":1}` + "\n" + `{"cell":{"initial":2},"ops":1}` + "\n" +
			`{"order":"x","units":[1` + strings.Repeat(",1", 99) + "]}\n",
			"order x names 100 units, and the stock had 2: it is no receipt of this stock"},
		"no cells": {head + "}\n" + `{"end":{}}` + "\n", "no cells"},
		"null cell": {head + `,"cells":1}` + "\n" + `{"cell":null}` + "\n",
			"cell 0 has more orders than its head declares"},
		"negative count": {head + `,"cells":1}` + "\n" + `{"cell":{},"ops":-1}` + "\n{}\n",
			"cell 1 has more orders than its head declares"},
		"wrong types": {head + `,"run":"x"}` + "\n", "its member run is a string, not an object"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "h.jsonl")
			require.NoError(t, os.WriteFile(path, []byte(c.content), 0o600))
			_, err := history.Open(path)
			require.ErrorIs(t, err, history.ErrNotHistory)
			require.ErrorContains(t, err, c.reason)
			assert.NotContains(t, err.Error(), "\n", "one line")
		})
	}
}

func TestFailedWriteLeavesTheOldFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "h.jsonl.gz")
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

func TestWriteToDevice(t *testing.T) {
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

// The probe of a large stock buys a unit. The figures do not count it as lost.
func TestLeftByBuyersAddsProbes(t *testing.T) {
	left := int64(98)
	c := &history.Cell{Ops: []history.Op{
		{Phase: history.Buy, Outcome: history.Sold, Units: []int64{100}},
		{Phase: history.Probe, Outcome: history.Sold, Units: []int64{99}},
	}}
	assert.Equal(t, "?", c.LeftByBuyers())
	c.Left = &left
	assert.Equal(t, "99", c.LeftByBuyers())
}
