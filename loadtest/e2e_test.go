package main

import (
	"bufio"
	"context"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"stockapi/loadtest/cluster"
)

// TestMain makes this test binary a loadtest too: its runs start it again as their guardian, and one test kills it.
func TestMain(m *testing.M) {
	switch {
	case len(os.Args) == 2 && os.Args[1] == "guardian":
		cluster.Guard(os.Stdin)
	case os.Getenv("LOADTEST_TEST_MAIN") != "":
		os.Exit(execute(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
	default:
		code := m.Run()
		// A proxy's link that is full when its proxy stops stays behind in toxiproxy 2.12.0.
		link := goleak.IgnoreAnyFunction("github.com/Shopify/toxiproxy/v2/toxics.(*NoopToxic).Pipe")
		if err := goleak.Find(link); err != nil && code == 0 {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
		_ = os.RemoveAll(builtIn)
		os.Exit(code)
	}
}

var builtIn string // the directory of the stockapi under test

var build = sync.OnceValues(func() (path string, err error) {
	if builtIn, err = os.MkdirTemp("", "loadtest-test-"); err != nil {
		return "", err
	}
	path = filepath.Join(builtIn, "stockapi")
	if runtime.GOOS == "windows" {
		path += ".exe"
	}
	out, err := exec.Command("go", "build", "-o", path, "stockapi/cmd/stockapi").CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, out)
	}
	return path, err
})

// stockapi builds the real service, once.
func stockapi(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("starts processes")
	}
	path, err := build()
	require.NoError(t, err)
	return path
}

func TestTheLadderOnTheEmbeddedRedis(t *testing.T) {
	path, dir, left := stockapi(t), t.TempDir(), ownTemp(t)
	code, stdout, stderr := loadtest(t, "--stockapi", path, "--backend", "embedded", "--rungs", "v0,v0.5,v4",
		"--scenarios", "one-instance,two-instances", "--out", dir)
	assert.Equal(t, asExpected, code, stdout+stderr)
	assert.Contains(t, stdout, "Do not compare the rungs' speed here")
	assert.Regexp(t, `v0 nolock +1 BROKEN stock`, stdout)
	assert.Regexp(t, `v0.5 mutex +2 BROKEN stock, exclusion`, stdout)
	assert.Regexp(t, `v4 lua-release +2 ok +100 +200 +0 +0 +0 +0`, stdout)
	assert.Regexp(t, `(?m)^  v0.5  [ab] sold unit \d+ to order \d+ at .* again to order \d+ at`, stdout)
	assert.Contains(t, stdout, "as expected (6 of 6 cells)")
	code, again, _ := loadtest(t, "audit", filepath.Join(dir, "results.json"))
	assert.Equal(t, asExpected, code)
	assert.Equal(t, withoutPlaces(stdout), again)
	windows, err := filepath.Glob(filepath.Join(dir, "porcupine", "*"))
	require.NoError(t, err)
	assert.Len(t, windows, 3, "both of v0, and v0.5 over two")
	assert.Empty(t, left())
}

func TestAnInterruptedRunKeepsWhatItHas(t *testing.T) {
	path, dir, left := stockapi(t), t.TempDir(), ownTemp(t)
	ctx, cancel := context.WithCancel(t.Context())
	var out strings.Builder
	stderr := &trigger{after: "1/", then: cancel}
	code := execute(ctx, []string{"--stockapi", path, "--backend", "embedded", "--rungs", "v4",
		"--scenarios", "one-instance,two-instances", "--repeat", "500", "--out", dir}, &out, stderr)
	assert.Equal(t, couldNotRun, code)
	assert.Regexp(t, `(?m)^loadtest: interrupted, with [12] of 1000 cells measured$`, stderr.String(),
		"two run side by side")
	last := regexp.MustCompile(`(?m)^interrupted after [12] of 1000 cells, so far as expected$`)
	assert.Regexp(t, last, out.String())
	assert.NotRegexp(t, `(?m)^as expected`, out.String())
	code, stdout, _ := loadtest(t, "audit", filepath.Join(dir, "results.json"))
	assert.Equal(t, couldNotRun, code, "as the run itself")
	assert.Regexp(t, last, stdout)
	assert.Contains(t, stdout, "the run was not finished: interrupted")
	assert.Empty(t, left())
}

func TestAForeignRedisIsLeftAsItWas(t *testing.T) {
	path, url := stockapi(t), foreignRedis(t)
	code, out, errs := measured(t, "--stockapi", path, "--backend", url, "--rungs", "v0,v5-as-printed",
		"--admin-token", "secret")
	assert.Equal(t, asExpected, code, out+errs)
	assert.Contains(t, out, "at "+url)
	assert.Empty(t, keysOn(t, url))
}

// foreignRedis starts an embedded Redis that no run started. It ends with the test.
func foreignRedis(t *testing.T) (url string) {
	t.Helper()
	cmd := exec.Command(stockapi(t), "redis", "--addr", "127.0.0.1:0", "--exit-with-stdin")
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		stdin.Close()
		_ = cmd.Wait()
	})
	url, err = bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	return strings.TrimSpace(url)
}

func keysOn(t *testing.T, url string) []string {
	t.Helper()
	o, err := redis.ParseURL(url)
	require.NoError(t, err)
	client := redis.NewClient(o)
	defer client.Close()
	keys, err := client.Keys(t.Context(), "*").Result()
	require.NoError(t, err)
	return keys
}

func TestARedisThatDiesEndsTheRun(t *testing.T) {
	needsProc(t)
	path, left := stockapi(t), ownTemp(t)
	var out strings.Builder
	stderr := &trigger{after: "1/", then: func() { kill(t, "redis --addr") }}
	code := execute(t.Context(), []string{"--stockapi", path, "--backend", "embedded", "--rungs", "v4",
		"--scenarios", "one-instance,two-instances", "--repeat", "500"}, &out, stderr)
	assert.Equal(t, couldNotRun, code)
	assert.Regexp(t, `loadtest: embedded redis died on its own \(signal: killed\), its last line: redis://\S+, `+
		`with \d+ of 1000 cells measured\n$`,
		stderr.String())
	assert.Contains(t, out.String(), "v4 lua-release", "what was measured is kept")
	assert.Empty(t, left())
}

// kill kills the one child of this test whose command line holds the text.
func kill(t *testing.T, text string) {
	t.Helper()
	for pid, line := range processes(os.Getenv("TMPDIR")) {
		if p, err := os.FindProcess(pid); err == nil && strings.Contains(line, text) {
			_ = p.Kill()
		}
	}
}

// trigger is a writer that does something when it has seen a text.
type trigger struct {
	strings.Builder
	after string
	then  func()
	once  sync.Once
}

func (w *trigger) Write(b []byte) (int, error) {
	n, err := w.Builder.Write(b)
	if strings.Contains(w.String(), w.after) {
		w.once.Do(w.then)
	}
	return n, err
}

func TestNothingOutlivesALoadtestThatIsKilled(t *testing.T) {
	for _, backend := range []string{"embedded", "redis-server"} {
		t.Run(backend, func(t *testing.T) {
			if _, err := exec.LookPath("redis-server"); backend == "redis-server" && err != nil {
				t.Skip("no redis-server on PATH")
			}
			needsProc(t)
			path, left := stockapi(t), ownTemp(t)
			killedUnderWay(t, func() {
				assert.GreaterOrEqual(t, len(left()), 10, "a directory, a guardian, a Redis, a janitor, five nodes, an instance")
			}, "--stockapi", path, "--backend", backend, "--rungs", "v4,v6", "--repeat", "500")
			assert.Eventually(t, func() bool { return len(left()) == 0 }, 20*time.Second, 20*time.Millisecond)
		})
	}
}

// The guardian may be killed too, at the same moment. Then its directory is left, but no process.
func TestNothingRunsOnAfterLoadtestAndItsGuardianWereKilled(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux ends processes with their parent")
	}
	for _, database := range []string{"mariadb", "postgres"} {
		t.Run(database, func(t *testing.T) {
			path := stockapi(t)
			for _, server := range []string{"redis-server", "java", "mariadbd"} {
				if _, err := exec.LookPath(server); err != nil {
					t.Skip("no " + server + " on PATH")
				}
			}
			ownTemp(t)
			t.Cleanup(func() { killAll(t) })
			running := func(text string) bool {
				for _, line := range processes(os.Getenv("TMPDIR")) {
					if strings.Contains(line, text) {
						return true
					}
				}
				return false
			}
			killedUnderWay(t, func() {
				for _, server := range []string{"redis-server", "java", database, "--instance a", "guardian"} {
					require.Eventually(t, func() bool { return running(server) }, time.Minute, 10*time.Millisecond, server)
				}
				kill(t, "guardian")
			}, "--stockapi", path, "--backend", "redis-server", "--sql", database, "--rungs", "v4,v12,v13", "--repeat", "500")
			assert.Eventually(t, func() bool { return len(processes(os.Getenv("TMPDIR"))) == 0 }, 20*time.Second,
				20*time.Millisecond)
		})
	}
}

// killedUnderWay runs a loadtest, looks around when its first cell is done and the second under way, and kills it.
func killedUnderWay(t *testing.T, look func(), args ...string) {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), "LOADTEST_TEST_MAIN=1")
	lines, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	_, err = bufio.NewReader(lines).ReadString('\n')
	require.NoError(t, err)
	look()
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
}

// ownTemp gives this test a directory for temporary files of its own, in which nothing must be left at its end.
func ownTemp(t *testing.T) (left func() []string) {
	t.Helper()
	tmp := t.TempDir()
	require.NoError(t, os.Chmod(filepath.Dir(tmp), 0o711)) // for servers that do not run as root
	t.Setenv("TMPDIR", tmp)
	t.Setenv("TMP", tmp)
	return func() []string { return leftIn(t, tmp) }
}

// leftIn returns the files in a directory for temporary files, and the processes that use it.
func leftIn(t *testing.T, tmp string) []string {
	t.Helper()
	entries, err := filepath.Glob(filepath.Join(tmp, "*"))
	require.NoError(t, err)
	return slices.AppendSeq(entries, maps.Values(processes(tmp)))
}

func needsProc(t *testing.T) {
	t.Helper()
	if _, err := os.Stat("/proc/self/environ"); err != nil {
		t.Skip("this system does not tell which processes there are")
	}
}

// processes returns the command lines of those that were told to keep their temporary files there, or that do: it finds
// the children of a process that is no more, whoever their parent is by now. A redis-server writes its title over its
// environment, and is known by where it is.
func processes(tmp string) map[int]string {
	directories, _ := filepath.Glob("/proc/[0-9]*")
	found := map[int]string{}
	for _, dir := range directories {
		environment, _ := os.ReadFile(filepath.Join(dir, "environ"))
		where, _ := os.Readlink(filepath.Join(dir, "cwd"))
		if strings.Contains(string(environment), "TMPDIR="+tmp) || strings.HasPrefix(where, tmp) {
			line, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
			pid, _ := strconv.Atoi(filepath.Base(dir))
			found[pid] = strings.ReplaceAll(string(line), "\x00", " ")
		}
	}
	return found
}

// All cells run on the same instances, which are named after their ports.
func TestInstancesOnGivenPorts(t *testing.T) {
	service := stockapi(t)
	free := freePorts(t, "5000", "5010")
	ports := []string{free["5000"], free["5010"]}
	args := []string{"--stockapi", service, "--backend", "embedded", "--ports", strings.Join(ports, ","),
		"--requests", "100", "--rungs", "v0.5,v4,v12", "--sql", "sqlite", "--scenarios", "one-instance,two-instances,crash"}
	code, stdout, stderr := measured(t, args...)
	require.Equal(t, asExpected, code, stdout+stderr)
	assert.Contains(t, stdout, "as expected (6 of 6 cells; 2 not run)")
	assert.Contains(t, stdout, "not run, 2: needs instances of its own")
	assert.Regexp(t, "v0.5 +("+strings.Join(ports, "|")+") sold unit", stdout)

	taken, err := net.Listen("tcp", "127.0.0.1:"+ports[1])
	require.NoError(t, err)
	defer taken.Close()
	code, _, stderr = loadtest(t, args...)
	assert.Equal(t, couldNotRun, code)
	assert.Contains(t, stderr, ports[1])
	assert.Contains(t, stderr, "address already in use")
}

// freePorts finds a free port for each of the given ones.
func freePorts(t *testing.T, ports ...string) map[string]string {
	t.Helper()
	free := map[string]string{}
	for _, p := range ports {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer l.Close() // when all are found, so that no two are the same
		free[p] = strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
	}
	return free
}
