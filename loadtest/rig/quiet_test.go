package rig

import (
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"stockapi/loadtest/wire"
)

// Nothing is known of the processes of a foreign service, so its commands alone tell.
func TestQuietWaitsLongerForForeignServices(t *testing.T) {
	for foreign, least := range map[bool]time.Duration{false: quietGap, true: foreignGap} {
		r, begun := &Rig{Gate: wire.NewGate(nil), foreign: foreign}, time.Now()
		r.Quiet(t.Context())
		assert.GreaterOrEqual(t, time.Since(begun), least)
	}
}

func TestAProcessThatSleepsIsAtRest(t *testing.T) {
	asleep, known := allSleep(nil)
	if !known {
		t.Skip("the system does not say what a process does")
	}
	assert.True(t, asleep)
	busy, stop := make(chan bool), atomic.Bool{}
	go func() {
		close(busy)
		for !stop.Load() {
		}
	}()
	<-busy
	asleep, _ = allSleep([]int{os.Getpid()})
	assert.False(t, asleep, "this thread runs")
	stop.Store(true)
}
