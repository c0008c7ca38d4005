package rig

import (
	"os"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
)

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
