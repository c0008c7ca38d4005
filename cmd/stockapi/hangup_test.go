//go:build unix

package main

import (
	"os/signal"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestATerminalThatGoesEndsAnInstanceInOrder(t *testing.T) {
	if signal.Ignored(syscall.SIGHUP) {
		t.Skip("under nohup no terminal ends anything")
	}
	in := start(t, "--redis", "embedded", "--embedded-addr", "127.0.0.1:0")
	require.NoError(t, syscall.Kill(syscall.Getpid(), syscall.SIGHUP))
	require.NoError(t, in.wait())
}
