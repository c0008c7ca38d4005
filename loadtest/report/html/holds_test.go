package html

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"stockapi/loadtest/history"
)

// Of a large cell only some lock commands are kept. The holds that begin in the time that is drawn are all there.
func TestTheLockKeysOfALargeCellAreThoseOfTheTimeDrawn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := &history.Cell{}
		at := history.Instant(0)
		for i := range rapid.IntRange(1, 40).Draw(t, "orders") {
			at += history.Instant(rapid.Int64Range(1, 50).Draw(t, "later"))
			took := history.Instant(rapid.Int64Range(1, 80).Draw(t, "took"))
			op := history.Op{Order: fmt.Sprint(i), Trace: []history.Command{
				{Cmd: "set", Key: "lock", At: at, End: at + 1, Reply: rapid.SampledFrom([]string{"OK", "nil"}).Draw(t, "reply")},
			}}
			if rapid.Bool().Draw(t, "removes") {
				op.Trace = append(op.Trace, history.Command{Cmd: "del", Key: "lock", At: at + took, End: at + took + 1, Reply: "1"})
			}
			c.Ops = append(c.Ops, op)
		}
		lo := rapid.Float64Range(0, 1500).Draw(t, "lo")
		w := window{span: span{lo, lo + rapid.Float64Range(1, 300).Draw(t, "length")}}
		assert.Equal(t, holdsIn(t, w, lockKeysOf(c, w, true)), holdsIn(t, w, lockKeysOf(c, w, false)))
	})
}

// holdsIn is the holds that begin in the window.
func holdsIn(t require.TestingT, w window, keys []*lockKey) []string {
	var out []string
	for _, k := range keys {
		for _, h := range k.holds {
			if h.from >= w.lo && h.from <= w.hi {
				out = append(out, fmt.Sprint(h.op.Order, " ", h.from))
			}
		}
	}
	return out
}

// A node of ZooKeeper's is a lock key like any other. A place in a queue is none: who has it may still be waiting.
func TestTheLockKeysOfZooKeeper(t *testing.T) {
	const lock, place = "/stockapi/ephemeral/k/lock", "/stockapi/sequential/k/_c_5f-0000000007"
	c := &history.Cell{Ops: []history.Op{{Order: "1", Trace: []history.Command{
		{Cmd: "zk:create", Key: lock, At: 1, End: 2, Reply: "ok"},
		{Cmd: "zk:watch", Key: lock, At: 2, End: 3, Reply: "true"},
		{Cmd: "zk:create", Key: place, At: 3, End: 4, Reply: "ok"},
		{Cmd: "zk:delete", Key: place, At: 5, End: 6, Reply: "true"},
		{Cmd: "zk:delete", Key: lock, At: 7, End: 8, Reply: "true"},
	}}}}
	keys := lockKeysOf(c, window{span: span{0, 10}}, true)
	require.Len(t, keys, 1)
	assert.Equal(t, lock, keys[0].key)
	require.Len(t, keys[0].holds, 1)
	assert.Equal(t, freed, keys[0].holds[0].how)
	assert.InDelta(t, 8, keys[0].holds[0].to, 0)
}
