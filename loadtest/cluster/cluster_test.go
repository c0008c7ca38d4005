package cluster

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// TestMain makes this test binary its own guardian and its own children.
func TestMain(m *testing.M) {
	GuardMain()
	switch os.Getenv("FLEET_TEST") {
	case "shop":
		shop()
	case "owner":
		own()
	case "passer":
		passer()
	case "ready":
		os.Stdout.WriteString("ready http://here\n")
		bufio.NewReader(os.Stdin).ReadString('\n') // until loadtest ends
	case "dies":
		os.Stdout.WriteString("ready http://here\n")
		time.Sleep(100 * time.Millisecond)
		os.Stderr.WriteString("out of memory\n")
		os.Exit(3)
	case "fails":
		os.Exit(1)
	case "unready":
		os.Stderr.WriteString("no Redis at all\n")
	default:
		// With the race detector each of these processes would sleep for a second before it exits.
		_ = os.Setenv("GORACE", os.Getenv("GORACE")+" atexit_sleep_ms=0")
		goleak.VerifyTestMain(m)
	}
}

func self(role string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "FLEET_TEST="+role)
	return cmd
}

// newCluster returns an empty cluster. It is closed when the test ends, and must leave nothing behind.
func newCluster(t *testing.T) (*Cluster, context.Context) {
	t.Helper()
	c, ctx, err := New(t.Context(), Options{})
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, c.Close())
		assert.NoDirExists(t, c.dir)
	})
	return c, ctx
}

func startChild(ctx context.Context, c *Cluster, name string, cmd *exec.Cmd) (*child, string, error) {
	p := &child{name: name, cmd: cmd}
	url, err := c.start(ctx, p, func(line string) (string, bool) { return strings.CutPrefix(line, "ready ") })
	return p, url, err
}

func TestChildIsStartedAndStopped(t *testing.T) {
	c, ctx := newCluster(t)
	p, url, err := startChild(ctx, c, "child", self("ready"))
	require.NoError(t, err)
	assert.Equal(t, "http://here", url)
	p.end()
	assert.True(t, p.exitsWithin(time.Second))
	require.NoError(t, ctx.Err(), "an expected exit does not end the run")
}

func TestCloseEndsChildren(t *testing.T) {
	c, ctx := newCluster(t)
	p, _, err := startChild(ctx, c, "child", self("ready"))
	require.NoError(t, err)
	require.NoError(t, c.Close())
	assert.True(t, p.exitsWithin(time.Second))
}

func TestChildDeathEndsTheRun(t *testing.T) {
	c, ctx := newCluster(t)
	_, _, err := startChild(ctx, c, "redis", self("dies"))
	require.NoError(t, err)
	<-ctx.Done()
	assert.EqualError(t, context.Cause(ctx), "redis died on its own (exit status 3), its last line: out of memory")
}

func TestChildNeverReady(t *testing.T) {
	c, ctx := newCluster(t)
	_, _, err := startChild(ctx, c, "stockapi a", self("unready"))
	require.EqualError(t, err, "stockapi a ended before it was ready, its last line: no Redis at all")
	require.NoError(t, ctx.Err())
}

func TestGuardianKillsListedProcesses(t *testing.T) {
	dir, err := os.MkdirTemp("", "loadtest-test-")
	require.NoError(t, err)
	kept, err := os.MkdirTemp("", "other-")
	require.NoError(t, err)
	defer os.RemoveAll(kept)
	left, quitting, spared := self("ready"), self("ready"), self("ready")
	quitting.Stderr = new(strings.Builder) // a Go process prints its stack
	for _, cmd := range []*exec.Cmd{left, quitting, spared} {
		_, err := cmd.StdinPipe()
		require.NoError(t, err)
		detach(cmd)
		require.NoError(t, cmd.Start())
	}
	Guard(strings.NewReader("dir " + dir + "\ndir " + kept + "\npid " + strconv.Itoa(left.Process.Pid) +
		"\nquits " + strconv.Itoa(quitting.Process.Pid) +
		"\npid " + strconv.Itoa(spared.Process.Pid) + "\ngone " + strconv.Itoa(spared.Process.Pid) +
		"\npid 1\npid -1\nnonsense\n"))
	require.Error(t, left.Wait(), "it was killed")
	require.NotContains(t, quitting.Wait().Error(), "killed", "it was asked to quit")
	assert.NoDirExists(t, dir)
	assert.DirExists(t, kept, "only directories of the run")
	require.NoError(t, spared.Process.Signal(os.Interrupt), "it is still there")
	require.NoError(t, spared.Process.Kill())
	_ = spared.Wait()
}

func TestGuardianStartsNoGuardian(t *testing.T) {
	t.Setenv(guardianMark, "1")
	_, _, err := New(t.Context(), Options{})
	require.ErrorContains(t, err, "must call cluster.Guard")
}

func TestInstanceNames(t *testing.T) {
	assert.Equal(t, "a", InstanceName(0))
	assert.Equal(t, "z", InstanceName(25))
	assert.Equal(t, "i27", InstanceName(26))
}

func TestReadyLine(t *testing.T) {
	url, ready := readyLine(`{"time":"…","level":"INFO","msg":"ready","url":"http://127.0.0.1:5000"}`)
	assert.True(t, ready)
	assert.Equal(t, "http://127.0.0.1:5000", url)
	for _, line := range []string{`{"msg":"ready"}`, `{"msg":"starting","url":"x"}`, `panic: no`} {
		_, ready := readyLine(line)
		assert.False(t, ready, line)
	}
}

func TestEnvironmentDoesNotConfigureInstances(t *testing.T) {
	t.Setenv("STOCKAPI_REDIS", "redis://elsewhere")
	assert.NotContains(t, strings.Join(environment(""), "\n"), "STOCKAPI_")
	assert.Contains(t, environment("secret"), "STOCKAPI_ADMIN_TOKEN=secret")
}

func TestPasswordsAreNotShown(t *testing.T) {
	assert.Equal(t, "redis://h:1/5", redact("redis://u:secret@h:1/5?password=secret"))
	assert.Equal(t, "postgres://h/db", redact("postgres://h/db?user=u&password=secret"))
	assert.Equal(t, "sqlite:///tmp/locks.db", redact("sqlite:///tmp/locks.db?_pragma=key=secret"))
	for _, raw := range []string{"redis://:12/secret@h", "redis://:se/cret@h", "secret", "u:secret@tcp(h)/db",
		"redis://:12#secret@h",
		"redis://:12?secret@h", "redis://127.0.0.1:1?password=secret", "redis://127.0.0.1:1/secret?x"} {
		_, err := foreignRedis(t.Context(), raw)
		require.ErrorContains(t, err, "no Redis at", raw)
		assert.NotContains(t, err.Error(), "cret", raw)
	}
	b := Backend{URL: "redis://:secret@h"}
	assert.Contains(t, b.secrets(), "STOCKAPI_REDIS=redis://:secret@h", "and not on the command line")
}
