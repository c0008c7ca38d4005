//go:build unix

package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
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

// GNU timeout signals its child and then the process group, so the child gets SIGTERM twice. Orders under way finish.
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

// A Ctrl-C ends all of "stockapi 2>&1 | tee log", and tee at once: nobody reads the log while the instance drains.
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

// A script without an end holds the embedded Redis, but not the process: neither an instance nor a Redis alone.
func TestAnEndlessScriptDoesNotDelayTheEnd(t *testing.T) {
	backendtest.Long(t)
	t.Parallel()
	for _, args := range [][]string{
		{"redis", "--addr"}, {"--redis=embedded", "--addr=127.0.0.1:0", "--sql=none", "--embedded-addr"},
	} {
		addr := fmt.Sprintf("127.0.0.1:%d", backendtest.FreePort(t))
		child := exec.CommandContext(t.Context(), os.Args[0], append(args, addr)...)
		require.NoError(t, child.Start())
		client := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1, ReadTimeout: 100 * time.Millisecond})
		ctx := context.Background()
		require.Eventually(t, func() bool { return client.Ping(ctx).Err() == nil }, 30*time.Second, 10*time.Millisecond)
		require.Error(t, client.Eval(ctx, "while true do end", nil).Err())
		require.Error(t, client.Ping(ctx).Err(), "the script holds it")
		require.NoError(t, client.Close())
		ended := make(chan error, 1)
		require.NoError(t, child.Process.Signal(syscall.SIGTERM))
		go func() { ended <- child.Wait() }()
		select {
		case err := <-ended:
			require.NoError(t, err, args)
		case <-time.After(30 * time.Second):
			_ = child.Process.Kill()
			t.Fatal("it does not end: ", args)
		}
	}
}
