package load

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

// A late sample says that the process did not get a processor, and for how long. Each watch counts the part of it that
// lies within the watch.
func TestAStallIsMeasured(t *testing.T) {
	begun := time.Now().Add(time.Hour) // no watch is asked by the clock of this machine
	m := &StallMeter{watches: map[*StallWatch]bool{}, due: begun.Add(tick)}
	early, late := &StallWatch{meter: m, began: begun}, &StallWatch{meter: m, began: begun.Add(tick + 80*time.Millisecond)}
	m.watches[early], m.watches[late] = true, true
	m.sample(begun.Add(tick + time.Millisecond)) // as timers are
	assert.Zero(t, early.away)
	m.sample(m.due.Add(100 * time.Millisecond))
	m.sample(m.due.Add(30 * time.Millisecond))
	assert.Equal(t, 130*time.Millisecond, early.away)
	assert.Equal(t, 100*time.Millisecond, early.longest)
	assert.Equal(t, 56*time.Millisecond, late.away, "it came when the second beat was late already")
	assert.Equal(t, 30*time.Millisecond, late.longest)
	assert.Equal(t, 100*time.Millisecond, m.Recent())
	for range sampleCount {
		m.sample(m.due)
	}
	assert.Zero(t, m.Recent(), "long ago")
}

func TestAMeterTakesSamples(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewStallMeter()
		defer m.Close()
		w := m.Watch()
		time.Sleep(10 * time.Second)
		away, longest := w.Stop()
		assert.Zero(t, away)
		assert.Zero(t, longest)
		m.mu.Lock()
		defer m.mu.Unlock()
		assert.GreaterOrEqual(t, m.samples, 1999)
		assert.Empty(t, m.watches)
	})
}

// A sample that is overdue counts already.
func TestAWatchDoesNotWaitForTheNextSample(t *testing.T) {
	m := &StallMeter{watches: map[*StallWatch]bool{}, due: time.Now().Add(-time.Minute)}
	w := &StallWatch{meter: m, began: time.Now().Add(-time.Hour)}
	away, longest := w.Stop()
	assert.InDelta(t, time.Minute, away, float64(30*time.Second))
	assert.Equal(t, away, longest)
	assert.GreaterOrEqual(t, m.Recent(), time.Minute)
}
