package load

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

// A late sample shows that the process did not get a processor, and for how long. Since counts the part after a given
// time.
func TestStallIsMeasured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		m := &StallMeter{due: begun.Add(tick)}
		time.Sleep(tick + time.Millisecond) // as timers are
		m.sample(time.Now())
		away, _ := m.Since(begun)
		assert.Zero(t, away)
		time.Sleep(tick + 100*time.Millisecond)
		within := time.Now().Add(-20 * time.Millisecond)
		m.sample(time.Now())
		time.Sleep(tick + 30*time.Millisecond)
		m.sample(time.Now())
		away, longest := m.Since(begun)
		assert.Equal(t, 130*time.Millisecond, away)
		assert.Equal(t, 100*time.Millisecond, longest)
		away, longest = m.Since(within)
		assert.Equal(t, 50*time.Millisecond, away, "it began when the second sample was already late")
		assert.Equal(t, 30*time.Millisecond, longest)
		assert.Equal(t, 100*time.Millisecond, m.Recent())
		m.due = time.Now().Add(recently)
		time.Sleep(recently)
		assert.Zero(t, m.Recent(), "long ago")
		time.Sleep(time.Minute)
		away, longest = m.Since(m.due)
		assert.Equal(t, time.Minute, away, "an overdue sample already counts")
		assert.Equal(t, away, longest)
	})
}

func TestStallMeterTakesSamples(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun, m := time.Now(), NewStallMeter()
		defer m.Close()
		time.Sleep(10 * time.Second)
		away, longest := m.Since(begun)
		assert.Zero(t, away)
		assert.Zero(t, longest)
		m.mu.Lock()
		defer m.mu.Unlock()
		assert.WithinDuration(t, time.Now(), m.due, 2*tick)
	})
	none := (*StallMeter)(nil)
	assert.Zero(t, none.Recent())
}
