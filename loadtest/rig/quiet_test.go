package rig

import (
	"os"
	"os/exec"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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

// One of two processes that pass a byte to each other is always awake, even if each sleeps whenever it is read.
func TestAllSleepAtOneInstant(t *testing.T) {
	if _, known := allSleep(nil); !known {
		t.Skip("the system does not report what a process does")
	}
	if _, err := exec.LookPath("cat"); err != nil {
		t.Skip(err)
	}
	var pids []int
	var ends [2][2]*os.File // what each reads, and where the other one writes to it
	for i := range ends {
		r, w, err := os.Pipe()
		require.NoError(t, err)
		ends[i] = [2]*os.File{r, w}
	}
	for i := range ends {
		cat := exec.CommandContext(t.Context(), "cat")
		cat.Stdin, cat.Stdout = ends[i][0], ends[1-i][1]
		require.NoError(t, cat.Start())
		t.Cleanup(func() { _ = cat.Wait() })
		pids = append(pids, cat.Process.Pid)
	}
	for _, end := range ends {
		defer func() { _, _ = end[0].Close(), end[1].Close() }()
	}
	_, err := ends[0][1].WriteString("x")
	require.NoError(t, err)
	for range 3000 {
		asleep, _ := allSleep(pids)
		require.False(t, asleep)
	}
}
