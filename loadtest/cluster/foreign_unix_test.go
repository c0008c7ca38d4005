//go:build unix

package cluster

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/backend/backendtest"
	"stockapi/loadtest/cluster/family"
)

// isGone asserts that a group becomes empty, and kills the rest of it.
func isGone(t *testing.T, group int) {
	t.Helper()
	if !assert.Eventually(t, func() bool {
		its, err := family.Of(group, "")
		return err == nil && len(its) == 0
	}, time.Minute, time.Millisecond) {
		_ = syscall.Kill(-group, syscall.SIGKILL)
	}
}

func TestForeignGetsPortAndRedis(t *testing.T) {
	c, ctx := newCluster(t)
	t.Setenv("PORT", "1")
	f, err := c.StartForeign(ctx, foreign(`echo "$PORT $REDIS_URL $LOADTEST_GUARDIAN $0 $1"; `+oneProcess,
		"--port={port}", "{redis}={redis_host}:{redis_port}"))
	require.NoError(t, err)
	require.NoError(t, f.Kill())
	host, port, err := net.SplitHostPort(hostPort(f.URL))
	require.NoError(t, err)
	assert.Equal(t, "127.0.0.1", host)
	assert.Equal(t, []string{port + " redis://127.0.0.1:6379  --port=" + port + " redis://127.0.0.1:6379=127.0.0.1:6379"},
		f.Tail())
	assert.Equal(t, "a", f.Name)
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
	assert.Regexp(t, `^http://\[::1\]:\d+$`, f.URL)
}

func TestForeignIsStoppedContinuedAndKilledAsAGroup(t *testing.T) {
	c, ctx := newCluster(t)
	f, err := c.StartForeign(ctx, foreign(threeProcesses))
	require.NoError(t, err)
	group := f.cmd.Process.Pid
	require.NoError(t, f.Stop())
	states := func() (all []string) {
		its, err := family.Of(group, "")
		require.NoError(t, err)
		for _, p := range its {
			all = append(all, p.State)
		}
		return all
	}
	assert.Equal(t, []string{"T", "T", "T"}, states())
	require.NoError(t, f.Continue())
	assert.Eventually(t, func() bool {
		all := states()
		return len(all) == 3 && !slices.Contains(all, "T")
	}, time.Minute, time.Millisecond)
	require.NoError(t, f.Stop())
	require.NoError(t, f.Kill())
	<-f.Exited()
	isGone(t, group)
	require.ErrorIs(t, f.Stop(), os.ErrProcessDone, "its pid may have been reused")
	require.ErrorIs(t, f.Continue(), os.ErrProcessDone)
	require.NoError(t, ctx.Err())
}

// The children of a dead service still hold its output and its port. They are found by their group, without a mark.
func TestForeignDiesWithItsChildren(t *testing.T) {
	c, ctx := newCluster(t)
	f, err := c.StartForeign(ctx, foreign("unset LOADTEST_SHOP; "+threeProcesses))
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(f.cmd.Process.Pid, syscall.SIGKILL))
	<-f.Exited()
	isGone(t, f.cmd.Process.Pid)
	require.NoError(t, ctx.Err(), "it does not end the run")
}

// answers reports whether a shop accepts a connection and closes it, which a stopped one does not.
func answers(f *Foreign) bool {
	conn, err := net.Dial("tcp", hostPort(f.URL))
	if err != nil {
		return false
	}
	defer conn.Close()
	_ = conn.SetReadDeadline(time.Now().Add(200 * time.Millisecond))
	_, err = conn.Read(make([]byte, 1))
	return errors.Is(err, io.EOF)
}

// needsSetsid skips a test on a machine without a setsid that waits, or where environments of processes cannot be read.
func needsSetsid(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("setsid"); err != nil || runtime.GOOS != "linux" {
		t.Skip("needs Linux with setsid of util-linux")
	}
}

// setsid moves a program to a group of its own, as honcho does.
func TestForeignThatLeftItsGroup(t *testing.T) {
	needsSetsid(t)
	for name, script := range map[string]string{
		"its parent waits":            `FLEET_TEST=shop setsid -w "$FLEET_SELF"`,
		"its parent has ended":        `(FLEET_TEST=shop setsid "$FLEET_SELF" &); exec sleep 600`,
		"its parent alone has a mark": `FLEET_TEST=shop setsid -w env -u LOADTEST_SHOP "$FLEET_SELF"; :`,
	} {
		t.Run(name, func(t *testing.T) {
			c, ctx := newCluster(t)
			f, err := c.StartForeign(ctx, foreign(script))
			require.NoError(t, err)
			require.NoError(t, f.Stop())
			assert.False(t, answers(f))
			require.NoError(t, f.Continue())
			assert.Eventually(t, func() bool { return answers(f) }, time.Minute, time.Millisecond)
			require.NoError(t, f.Stop())
			require.NoError(t, f.Kill())
			_, err = net.Dial("tcp", hostPort(f.URL))
			require.Error(t, err)
			require.NoError(t, ctx.Err())
		})
	}
}

// A process may fork as it is about to be killed, or after it was found.
func TestForeignThatForksIsKilledWithAllChildren(t *testing.T) {
	needsSetsid(t)
	c, ctx := newCluster(t)
	begin := filepath.Join(t.TempDir(), "begin")
	f, err := c.StartForeign(ctx, foreign(`setsid /bin/sh -c 'echo $$; until [ -e "$0" ]; do :; done; n=0
		while [ $n -lt 500 ]; do sleep 600 & n=$((n+1)); done; wait' "$0" & `+oneProcess, begin))
	require.NoError(t, err)
	forks := printed(t, f)
	require.NoError(t, os.WriteFile(begin, nil, 0o600))
	require.NoError(t, f.Kill())
	isGone(t, forks)
}

// Processes outside the group end even if the started process exits by itself.
func TestForeignThatDiesAtStartLeavesNothing(t *testing.T) {
	needsSetsid(t)
	c, ctx := newCluster(t)
	o, pid := foreign(`setsid /bin/sh -c 'echo $$ >"$0"; exec sleep 600' "$0" & until [ -s "$0" ]; do sleep 0.01; done`,
		filepath.Join(t.TempDir(), "pid")), 0
	_, err := c.StartForeign(ctx, o)
	require.ErrorContains(t, err, "died at start (exit status 0)")
	text, err := os.ReadFile(o.Argv[3])
	require.NoError(t, err)
	_, err = fmt.Sscan(string(text), &pid)
	require.NoError(t, err)
	isGone(t, pid)
}

// hidden is a shop that is found by no mark, group or parent. It prints its pid.
const hidden = `(FLEET_TEST=shop setsid env -u LOADTEST_SHOP "$FLEET_SELF" & echo $!); exec sleep 600`

func TestForeignThatOutlivesItsProcessIsReported(t *testing.T) {
	t.Parallel()
	needsSetsid(t)
	backendtest.Long(t)
	c, ctx := newCluster(t)
	f, err := c.StartForeign(ctx, foreign(hidden))
	require.NoError(t, err)
	defer func(pid int) { _ = syscall.Kill(pid, syscall.SIGKILL) }(printed(t, f))
	require.EqualError(t, f.Kill(), "a outlived the process that was started; start it in the foreground")
	assert.True(t, f.exitsWithin(0), "its output is not awaited")
}

// printed returns the number on the first line of a service's output.
func printed(t *testing.T, f *Foreign) (n int) {
	t.Helper()
	require.Eventually(t, func() bool { return len(f.Tail()) == 1 }, time.Minute, time.Millisecond)
	n, err := strconv.Atoi(f.Tail()[0])
	require.NoError(t, err)
	return n
}

func TestForeignThatDiesAtStartReportsItsLastLines(t *testing.T) {
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

func TestForeignDiesWithLoadtest(t *testing.T) {
	diesWithUs(t, threeProcesses)
}

func TestForeignThatLeftItsGroupDiesWithLoadtest(t *testing.T) {
	needsSetsid(t)
	diesWithUs(t, `setsid /bin/sh -c 'FLEET_TEST=shop "$FLEET_SELF" & echo $$; wait' & wait`)
}

// diesWithUs checks that a service dies with its owner. Its script prints the number of its group.
func diesWithUs(t *testing.T, script string) {
	t.Helper()
	owner := self("owner")
	owner.Env = append(owner.Env, "FLEET_SHOP="+script)
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
