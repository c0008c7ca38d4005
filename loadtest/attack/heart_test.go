package attack

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

// A beat that comes late says that the process did not get the processor, and for how long; each watch counts what of it
// was while it looked.
func TestAHeartKnowsWhenItIsLate(t *testing.T) {
	begun := time.Now().Add(time.Hour) // no watch is asked by the clock of this machine
	h := &Heart{watches: map[*Watch]bool{}, due: begun.Add(tick)}
	early, late := &Watch{heart: h, began: begun}, &Watch{heart: h, began: begun.Add(tick + 80*time.Millisecond)}
	h.watches[early], h.watches[late] = true, true
	h.beat(begun.Add(tick + time.Millisecond)) // as timers are
	assert.Zero(t, early.away)
	h.beat(h.due.Add(100 * time.Millisecond))
	h.beat(h.due.Add(30 * time.Millisecond))
	assert.Equal(t, 130*time.Millisecond, early.away)
	assert.Equal(t, 100*time.Millisecond, early.longest)
	assert.Equal(t, 56*time.Millisecond, late.away, "it came when the second beat was late already")
	assert.Equal(t, 30*time.Millisecond, late.longest)
	assert.Equal(t, 100*time.Millisecond, h.Lately())
	for range kept {
		h.beat(h.due)
	}
	assert.Zero(t, h.Lately(), "long ago")
}

func TestAHeartBeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := NewHeart()
		defer h.Close()
		w := h.Watch()
		time.Sleep(10 * time.Second)
		away, longest := w.Stop()
		assert.Zero(t, away)
		assert.Zero(t, longest)
		h.mu.Lock()
		defer h.mu.Unlock()
		assert.GreaterOrEqual(t, h.beats, 1999)
		assert.Empty(t, h.watches)
	})
}

// One that is due and does not come is late already.
func TestAWatchDoesNotWaitForTheBeat(t *testing.T) {
	h := &Heart{watches: map[*Watch]bool{}, due: time.Now().Add(-time.Minute)}
	w := &Watch{heart: h, began: time.Now().Add(-time.Hour)}
	away, longest := w.Stop()
	assert.InDelta(t, time.Minute, away, float64(30*time.Second))
	assert.Equal(t, away, longest)
	assert.GreaterOrEqual(t, h.Lately(), time.Minute)
}
