//go:build unix

package cluster

import (
	"bufio"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/backend/backendtest"
)

// isGone waits until nothing is left of a group, and sees to it if something is.
func isGone(t *testing.T, group int) {
	t.Helper()
	if !assert.Eventually(t, func() bool {
		states, err := groupStates(group)
		return err == nil && len(states) == 0
	}, time.Minute, time.Millisecond) {
		_ = syscall.Kill(-group, syscall.SIGKILL)
	}
}

func TestForeignIsGivenPortAndRedis(t *testing.T) {
	c, ctx := newCluster(t)
	t.Setenv("PORT", "1")
	f, err := c.StartForeign(ctx, foreign(`echo "$PORT $REDIS_URL $LOADTEST_GUARDIAN $0 $1"; `+oneProcess,
		"--port={port}", "{redis}={redis_host}:{redis_port}"))
	require.NoError(t, err)
	f.Kill()
	host, port, err := net.SplitHostPort(f.Addr())
	require.NoError(t, err)
	assert.Equal(t, "127.0.0.1", host)
	assert.Equal(t, []string{port + " redis://127.0.0.1:6379  --port=" + port + " redis://127.0.0.1:6379=127.0.0.1:6379"},
		f.Tail())
	assert.Equal(t, "a", f.ID)
}

func TestForeignIsReachedOnIPv6(t *testing.T) {
	l, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		t.Skip("needs IPv6")
	}
	_ = l.Close()
	c, ctx := newCluster(t)
	t.Setenv("FLEET_HOST", "::1")
	f, err := c.StartForeign(ctx, foreign(oneProcess))
	require.NoError(t, err)
	assert.Regexp(t, `^\[::1\]:\d+$`, f.Addr())
}

func TestForeignIsStoppedContinuedAndKilledAsAGroup(t *testing.T) {
	c, ctx := newCluster(t)
	f, err := c.StartForeign(ctx, foreign(threeProcesses))
	require.NoError(t, err)
	group := f.cmd.Process.Pid
	require.NoError(t, f.Stop())
	states, err := groupStates(group)
	require.NoError(t, err)
	assert.Equal(t, []string{"T", "T", "T"}, states)
	require.NoError(t, f.Continue())
	assert.Eventually(t, func() bool {
		states, err := groupStates(group)
		return err == nil && len(states) == 3 && !slices.Contains(states, "T")
	}, time.Minute, time.Millisecond)
	require.NoError(t, f.Stop())
	f.Kill()
	<-f.Exited()
	isGone(t, group)
	require.ErrorIs(t, f.Stop(), os.ErrProcessDone, "its number may be another's")
	require.ErrorIs(t, f.Continue(), os.ErrProcessDone)
	require.NoError(t, ctx.Err())
}

// The children of a service that has died hold its output and its port.
func TestForeignDiesWithItsChildren(t *testing.T) {
	c, ctx := newCluster(t)
	f, err := c.StartForeign(ctx, foreign(threeProcesses))
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(f.cmd.Process.Pid, syscall.SIGKILL))
	<-f.Exited()
	isGone(t, f.cmd.Process.Pid)
	require.NoError(t, ctx.Err(), "that is not the end of the run")
}

func TestForeignEndsThoughOneThatLeftItsGroupHoldsTheOutput(t *testing.T) {
	backendtest.Long(t)
	c, ctx := newCluster(t)
	f, err := c.StartForeign(ctx, foreign(`setsid sleep 600 & echo $!; `+oneProcess))
	require.NoError(t, err)
	require.Eventually(t, func() bool { return len(f.Tail()) == 1 }, time.Minute, time.Millisecond)
	pid, err := strconv.Atoi(f.Tail()[0])
	require.NoError(t, err)
	defer func() { _ = syscall.Kill(pid, syscall.SIGKILL) }()
	f.Kill()
	assert.True(t, f.exitsWithin(0))
}

func TestForeignThatDiesAtStartTellsItsLastLines(t *testing.T) {
	c, ctx := newCluster(t)
	for script, want := range map[string]string{
		`echo "no Redis"; echo "  at shop.js:1" >&2; exit 3`: "a died at start (exit status 3); its last lines:\n" +
			"no Redis\n  at shop.js:1",
		`exit 0`:        "a died at start (exit status 0), without any output",
		`kill -KILL $$`: "a died at start (signal: killed), without any output",
	} {
		_, err := c.StartForeign(ctx, foreign(script))
		require.EqualError(t, err, want)
	}
	_, err := c.StartForeign(ctx, foreign("seq 30; exit 1"))
	require.ErrorContains(t, err, "lines:\n11\n")
	assert.Equal(t, keptLines, strings.Count(err.Error(), "\n"))
	_, err = c.StartForeign(ctx, ForeignOptions{Argv: []string{"/no/such"}, RedisAddr: "127.0.0.1:6379", Name: "a"})
	require.EqualError(t, err, "cannot start a: fork/exec /no/such: no such file or directory")
	require.NoError(t, ctx.Err())
}

func TestForeignThatDoesNotListenIsKilled(t *testing.T) {
	c, ctx := newCluster(t)
	o := foreign("sleep 600")
	o.Within = time.Millisecond
	_, err := c.StartForeign(ctx, o)
	require.Error(t, err)
	assert.Regexp(t, `^a does not listen on port \d+, which is \$PORT and {port}, within 1ms, without any output$`,
		err.Error())
	assert.Empty(t, c.children)
}

func TestForeignDiesWithUs(t *testing.T) {
	owner := self("owner")
	stdout, err := owner.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, owner.Start())
	line, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	group, err := strconv.Atoi(strings.TrimSpace(line))
	require.NoError(t, err, line)
	require.NoError(t, owner.Process.Kill())
	_ = owner.Wait()
	isGone(t, group)
}
