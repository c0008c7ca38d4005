package history

import (
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestOpIsBounded(t *testing.T) {
	long := strings.Repeat("ü", 1<<14)
	op := Op{Quantity: 2, Detail: long, Instance: long, Units: make([]int64, 1000), Lease: &Lease{Token: long}}
	for range 100_000 {
		op.Trace = append(op.Trace, Command{Cmd: "set", Key: long, Reply: "OK"})
	}
	op.Bound()
	assert.Len(t, op.Units, 18, "more than it ordered, so that the audit sees it")
	assert.Len(t, op.Trace, maxCommands+1)
	assert.True(t, op.Trace[maxCommands].Cut())
	assert.Less(t, len(op.Trace[0].Key), 2*maxText)
	assert.NotContains(t, op.Detail, "�")
	assert.NotEqual(t, Clip(long+"a"), Clip(long+"b"), "keys and tokens that differ stay different")
	assert.Equal(t, `\x1b[2J as expected`, Clip("\x1b[2J\nas expected"))

	polled := Op{Trace: slices.Repeat([]Command{{Cmd: "set", Reply: "nil"}}, 5000)}
	polled.Trace = append(polled.Trace, Command{Cmd: "set", Reply: "OK"}, Command{Cmd: "del", Reply: "1"})
	polled.Bound()
	assert.Equal(t, []Command{{Cmd: "set", Reply: "OK"}, {Cmd: "del", Reply: "1"}}, polled.Trace,
		"only failed polls are dropped")

	short := typical(1)
	same := typical(1)
	same.Bound()
	assert.Equal(t, short, same)
}

// A small file must not unpack into more data than memory holds.
func TestGzipBombIsRefused(t *testing.T) {
	if testing.Short() {
		t.Skip("takes longer than a second")
	}
	const head = `{"format":"stockapi-history","version":`
	endless := func(s string) string { return strings.Repeat(s, 1<<20/len(s)) }
	for name, c := range map[string]struct{ begin, then, why string }{
		"a text":            {head + `4,"cells":1,"run":{"id":"`, endless("x"), "a line of more than 16 MB"},
		"blanks":            {head, endless(" "), "a line of more than 16 MB"},
		"an unknown member": {head + `4,"extra":[`, endless("[],"), "a line of more than 16 MB"},
		"an order": {head + "4}\n" + `{"cell":{},"ops":1}` + "\n" + `{"units":[`, endless("1,"),
			"a line of more than 16 MB"},
		"cells": {head + "4}\n", endless(`{"cell":{}}` + "\n"), "more than 64 MB besides its orders"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "bomb.json")
			file, err := os.Create(path)
			require.NoError(t, err)
			z := gzip.NewWriter(file)
			_, err = io.WriteString(z, c.begin)
			require.NoError(t, err)
			for range 40 { // MB
				_, err = io.WriteString(z, c.then)
				require.NoError(t, err)
			}
			require.NoError(t, z.Close())
			require.NoError(t, file.Close())
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err = Open(path)
			runtime.ReadMemStats(&after)
			require.ErrorIs(t, err, ErrNotHistory)
			require.ErrorContains(t, err, c.why)
			assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(256<<20))
		})
	}
}
