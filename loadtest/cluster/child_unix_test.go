//go:build unix

package cluster

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestStoppedProcessIsDetected(t *testing.T) {
	cmd := self("ready")
	stdin, err := cmd.StdinPipe() // the process waits until this is closed
	require.NoError(t, err)
	defer stdin.Close()
	detach(cmd)
	require.NoError(t, cmd.Start())
	pid := cmd.Process.Pid
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	is := func(want bool) func() bool {
		return func() bool { s, err := stopped(pid, ""); return err == nil && s == want }
	}
	assert.Eventually(t, is(false), 10*time.Second, time.Millisecond)
	require.NoError(t, stop(pid, ""))
	assert.Eventually(t, is(true), 10*time.Second, time.Millisecond)
	require.NoError(t, resume(pid, ""))
	assert.Eventually(t, is(false), 10*time.Second, time.Millisecond)
}
