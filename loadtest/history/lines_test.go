package history

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// typical returns an order at a rung with leases and traces.
func typical(i int) Op {
	at := Instant(i) * 200_000
	op := Op{
		Order: fmt.Sprintf("lt-2816f6c7-6-v4-%d", i),
		Phase: Buy, Instance: "127.0.0.1:41234-9f3c", Outcome: Refused, Status: 409,
		Detail: "not enough stock", Due: at, Sent: at + 900, Done: at + 4_000_000, Latency: 4_000_900,
		Quantity: 1, WaitedMS: 2.125,
		Lease: &Lease{Token: fmt.Sprintf("%032x", uint64(i)*0x9e3779b97f4a7c15), AcquiredAt: at + 2_000_000,
			ReleasedAt: at + 3_000_000},
	}
	for j, cmd := range []string{"set", "subscribe", "set", "get", "eval:release"} {
		op.Trace = append(op.Trace, Command{
			Node: "127.0.0.1:6379", Cmd: cmd, Key: "{ProductLock_lt-2816f6c7-6-v4}", Reply: "true",
			At: at + Instant(j)*500_000, End: at + Instant(j)*500_000 + 90_000,
		})
	}
	return op
}

// runOf returns a run of a cell with n orders, one that was not run, and one with two orders.
func runOf(orders int) *Run {
	c := &Cell{Product: "p", Scenario: "two-instances", Start: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)}
	for i := range orders {
		c.Ops = append(c.Ops, typical(i))
	}
	few := &Cell{Scenario: "crash", Ops: []Op{typical(1), {Order: "x", Due: Never, Sent: -5, Done: Never}}}
	return &Run{ID: "1", Started: c.Start, Cells: []*Cell{c, {NotTested: &NotTested{Reason: "needs five nodes"}}, few}}
}

func write(t *testing.T, run *Run) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, encode(&b, run))
	return b.String()
}

func read(t *testing.T, content string) (*Run, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "f")
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	return Open(path)
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

func TestFileIsReadCompressedOrNot(t *testing.T) {
	run := runOf(1000)
	text := write(t, run)
	for _, content := range []string{text, zipped(t, text)} {
		got, err := read(t, content)
		require.NoError(t, err)
		assert.Equal(t, run, got)
	}
}

func TestLinesAreJSONValues(t *testing.T) {
	text := strings.TrimSpace(write(t, runOf(100)))
	lines := strings.Split(text, "\n")
	assert.Len(t, lines, 1+3+102+1)
	for _, line := range lines {
		require.True(t, json.Valid([]byte(line)), line)
	}
	assert.Contains(t, lines[0], `{"format":"stockapi-history","version":4,"cells":3,"ops":102,"run":{"id":"1"`)
	assert.JSONEq(t, `{"end":{"cells":3,"ops":102}}`, lines[len(lines)-1])
}

// Truncation is detected at every boundary.
func TestTruncatedLinesAreRefused(t *testing.T) {
	if testing.Short() {
		t.Skip("takes longer than a second")
	}
	text := write(t, runOf(20))
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
	refused(packed[:len(packed)-5]+"x"+packed[len(packed)-4:], "its compressed data are damaged")
	refused(without(2), "cell 1 lacks 1 orders")
	refused(without(len(lines)-2), "cell 3 lacks 1 orders")
	refused(without(22), "2 cells, but its head declares 3")
	refused(text+lines[2], "there is data after its end")
	refused(text+"x", "it is cut short after")
	refused(strings.Replace(text, `"cells":3`, `"cells":2`, 1), "its end and its head disagree")
	refused(strings.Join(lines[:2], "")+lines[2]+strings.Join(lines[2:], ""),
		"cell 1 has more orders than its head declares")
	refused(strings.ReplaceAll(text, `"cells":3,"ops":22`, `"cells":4,"ops":22`), "3 cells, but its head declares 4")
	refused(strings.ReplaceAll(text, `"cells":3,"ops":22`, `"cells":3,"ops":23`), "22 orders, but its head declares 23")
	refused(strings.Replace(text, `"order":"x"`, `"order":5`, 1), "its member order is a number, not a string")
}
