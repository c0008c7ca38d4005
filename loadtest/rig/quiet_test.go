package rig

import (
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"stockapi/loadtest/wire"
)

// The processes of a foreign service are unknown, so only its commands show whether it is quiet.
func TestQuietWaitsLongerForForeignServices(t *testing.T) {
	for foreign, least := range map[bool]time.Duration{false: quietGap, true: foreignGap} {
		r, begun := &Rig{Gate: wire.NewGate(nil), foreign: foreign}, time.Now()
		r.Quiet(t.Context())
		assert.GreaterOrEqual(t, time.Since(begun), least)
	}
}

func TestAllSleep(t *testing.T) {
	asleep, known := allSleep(nil)
	if !known {
		t.Skip("the system does not report what a process does")
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
