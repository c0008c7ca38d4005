//go:build unix

package fleet

import (
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAStoppedProcessIsSeen(t *testing.T) {
	cmd := exec.Command("sleep", "60")
	require.NoError(t, cmd.Start())
	pid := cmd.Process.Pid
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	is := func(want bool) func() bool {
		return func() bool { s, err := stopped(pid); return err == nil && s == want }
	}
	assert.Eventually(t, is(false), time.Second, time.Millisecond)
	require.NoError(t, stop(pid))
	assert.Eventually(t, is(true), time.Second, time.Millisecond)
	require.NoError(t, resume(pid))
	assert.Eventually(t, is(false), time.Second, time.Millisecond)
}
