//go:build unix

package main

import (
	"bufio"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/backend/backendtest"
)

func TestATerminalThatGoesEndsAnInstanceInOrder(t *testing.T) {
	if signal.Ignored(syscall.SIGHUP) {
		t.Skip("under nohup no terminal ends anything")
	}
	in := start(t, "--redis", "embedded", "--embedded-addr", "127.0.0.1:0")
	require.NoError(t, syscall.Kill(syscall.Getpid(), syscall.SIGHUP))
	require.NoError(t, in.wait())
}

// GNU timeout signals its child and then the process group, so the child gets SIGTERM twice. Orders in flight finish.
func TestShutdownIgnoresARepeatedSignal(t *testing.T) {
	backendtest.Long(t)
	in := start(t, "--redis", "embedded", "--embedded-addr", "127.0.0.1:0")
	answered := make(chan int, 1)
	go func() { answered <- in.post(t, "/v4/decrease?work=1s").status }()
	require.Eventually(t, func() bool {
		return strings.Contains(in.do(t, "GET", "/metrics", nil).text, `rung="v4"} 1`)
	}, 10*time.Second, 10*time.Millisecond)
	require.NoError(t, syscall.Kill(syscall.Getpid(), syscall.SIGTERM))
	require.Eventually(t, func() bool { return slices.Contains(in.logs.since(0), "draining") },
		10*time.Second, time.Millisecond)
	require.NoError(t, syscall.Kill(syscall.Getpid(), syscall.SIGTERM)) // would end this test
	require.NoError(t, in.wait())
	assert.Equal(t, 200, <-answered)
}

// A Ctrl-C ends all of "stockapi 2>&1 | tee log", and tee at once, so the log has no reader while the instance drains.
func TestAnInstanceWhoseLogIsNotReadEndsInOrder(t *testing.T) {
	t.Parallel()
	read, written, err := os.Pipe()
	require.NoError(t, err)
	child := exec.CommandContext(t.Context(), os.Args[0], "--redis=embedded", "--embedded-addr=127.0.0.1:0",
		"--addr=127.0.0.1:0", "--sql=none")
	child.Stderr = written
	require.NoError(t, child.Start())
	require.NoError(t, written.Close())
	for log := bufio.NewScanner(read); log.Scan() && !strings.Contains(log.Text(), "msg=ready"); {
	}
	require.NoError(t, read.Close())
	require.NoError(t, child.Process.Signal(syscall.SIGTERM))
	require.NoError(t, child.Wait())
}
