package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"stockapi/internal/backend/backendtest"
	"stockapi/loadtest/cluster"
)

// TestMain makes this test binary a loadtest too: its runs start it again as their guardian, and one test kills it.
func TestMain(m *testing.M) {
	switch {
	case len(os.Args) == 2 && os.Args[1] == "guardian":
		cluster.Guard(os.Stdin)
	case os.Getenv("LOADTEST_TEST_MAIN") != "":
		os.Exit(withoutLeaks(execute(context.Background(), os.Args[1:], os.Stdout, os.Stderr)))
	default:
		runMoreInParallel()
		exitAtOnce()
		_ = os.Setenv("LOADTEST_STOCKAPI", "go") // whatever runs; a test that starts the service builds it: see stockapi
		code := m.Run()
		if code == 0 {
			code = withoutLeaks(code)
		}
		_ = os.RemoveAll(builtIn)
		os.Exit(code)
	}
}

// leaked is the exit code of a process that leaves goroutines behind.
const leaked = 70

// withoutLeaks returns the exit code, or leaked if goroutines are left behind.
func withoutLeaks(code int) int {
	// A proxy's link that is full when its proxy stops stays behind in toxiproxy 2.12.0. One that delays a packet ends
	// with the delay.
	reads := goleak.IgnoreAnyFunction("github.com/Shopify/toxiproxy/v2/toxics.(*ToxicStub).Run")
	writes := goleak.IgnoreAnyFunction("github.com/Shopify/toxiproxy/v2.(*ToxicLink).write")
	err := goleak.Find(reads, writes)
	for tries := 1; err != nil && tries < 5; tries++ {
		err = goleak.Find(reads, writes)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return leaked
	}
	return code
}

// exitAtOnce makes the processes that the tests start exit at once. With the race detector each would first sleep for a
// second: the guardian of each run, and the run itself.
func exitAtOnce() {
	_ = os.Setenv("GORACE", os.Getenv("GORACE")+" atexit_sleep_ms=0")
}

// runMoreInParallel runs two parallel tests for each processor, unless -parallel says otherwise, and with the race
// detector one for two processors. Most of their time passes while a lease or a timeout ends. A test that needs the
// processor all the time does not run in parallel.
func runMoreInParallel() {
	flag.Parse()
	chosen := false
	flag.Visit(func(f *flag.Flag) { chosen = chosen || f.Name == "test.parallel" })
	if !chosen {
		_ = flag.Set("test.parallel", strconv.Itoa(max(1, int(parallel*float64(runtime.GOMAXPROCS(0))))))
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
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return path, os.Setenv("LOADTEST_STOCKAPI", path)
})

// stockapi builds the real service, once. From then on every run starts it.
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
	t.Parallel()
	stockapi(t)
	dir, tmp := t.TempDir(), ownTemp(t)
	code, stdout, stderr := tmp.loadtest(t, "--backend", "embedded", "--rungs", "v0,v0.5,v4",
		"--scenarios", "one-instance,two-instances", "--out", dir)
	assert.Equal(t, asExpected, code, stdout+stderr)
	assert.Contains(t, stdout, "Do not compare the rungs' speed here")
	assert.Regexp(t, `v0 nolock +1 BROKEN stock`, stdout)
	assert.Regexp(t, `v0.5 mutex +2 BROKEN stock, exclusion`, stdout)
	assert.Regexp(t, `v4 lua-release +2 ok +100 +200 +0 +0 +0 +0`, stdout)
	assert.Regexp(t, `(?m)^two-instances v0 v0\.5: [ab] sold unit \d+ to order \d+ at .* again to order \d+ at`, stdout)
	assert.Contains(t, stdout, "as expected (6 of 6 cells)")
	code, again, _ := loadtest(t, "audit", dir)
	assert.Equal(t, asExpected, code)
	assert.Equal(t, stdout, again)
	windows, err := filepath.Glob(filepath.Join(dir, "porcupine", "*"))
	require.NoError(t, err)
	assert.Len(t, windows, 3, "both of v0, and v0.5 over two")
	assert.Empty(t, tmp.left(t))
}

func TestAnInterruptedRunKeepsWhatItHas(t *testing.T) {
	stockapi(t)
	dir, tmp := t.TempDir(), ownTemp(t)
	tmp.useHere(t)
	ctx, cancel := context.WithCancel(t.Context())
	var out strings.Builder
	stderr := &trigger{after: "1/", then: cancel}
	code := execute(ctx, []string{"--backend", "embedded", "--rungs", "v4",
		"--scenarios", "one-instance,two-instances", "--repeat", "500", "--out", dir}, &out, stderr)
	assert.Equal(t, couldNotRun, code)
	assert.Regexp(t, `(?m)^loadtest: interrupted, with [12] of 1000 cells measured$`, stderr.String(),
		"two run side by side")
	last := regexp.MustCompile(`(?m)^interrupted after [12] of 1000 cells, so far as expected$`)
	assert.Regexp(t, last, out.String())
	assert.NotRegexp(t, `(?m)^as expected`, out.String())
	code, stdout, _ := loadtest(t, "audit", dir)
	assert.Equal(t, couldNotRun, code, "as the run itself")
	assert.Regexp(t, last, stdout)
	assert.Contains(t, stdout, "the run was not finished: interrupted")
	assert.Empty(t, tmp.left(t))
}

func TestAForeignRedisIsLeftAsItWas(t *testing.T) {
	t.Setenv("LOADTEST_ADMIN_TOKEN", "secret")
	stockapi(t)
	url := foreignRedis(t)
	code, out, errs := measured(t, "--backend", url, "--rungs", "v0,v5-as-printed")
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
	t.Parallel()
	needsProc(t)
	stockapi(t)
	tmp := ownTemp(t)
	var out strings.Builder
	stderr := &trigger{after: "1/", then: func() { tmp.kill("redis --addr") }}
	cmd := tmp.command("--backend", "embedded", "--rungs", "v4",
		"--scenarios", "one-instance,two-instances", "--repeat", "500")
	cmd.Stdout, cmd.Stderr = &out, stderr
	_ = cmd.Run()
	assert.Equal(t, couldNotRun, cmd.ProcessState.ExitCode())
	assert.Regexp(t, `loadtest: embedded redis died on its own \(signal: killed\), its last line: redis://\S+, `+
		`with \d+ of 1000 cells measured\n$`,
		stderr.String())
	assert.Contains(t, out.String(), "v4 lua-release", "what was measured is kept")
	assert.Empty(t, tmp.left(t))
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
	t.Parallel()
	for _, backend := range []string{"embedded", "redis-server"} {
		t.Run(backend, func(t *testing.T) {
			if _, err := exec.LookPath("redis-server"); backend == "redis-server" && err != nil {
				t.Skip("no redis-server on PATH")
			}
			t.Parallel()
			needsProc(t)
			stockapi(t)
			tmp := ownTemp(t)
			tmp.killedUnderWay(t, func(string) {
				assert.GreaterOrEqual(t, len(tmp.left(t)), 10,
					"a directory, a guardian, a Redis, a janitor, five nodes, an instance")
			}, "--backend", backend, "--rungs", "v4,v6", "--repeat", "500")
			assert.Eventually(t, func() bool { return len(tmp.left(t)) == 0 }, 20*time.Second, 20*time.Millisecond)
		})
	}
}

// The guardian may be killed too, at the same moment. Then its directory is left, but no process.
func TestNothingRunsOnAfterLoadtestAndItsGuardianWereKilled(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux ends processes with their parent")
	}
	for _, database := range []string{"mariadb", "postgres"} {
		t.Run(database, func(t *testing.T) {
			t.Parallel()
			stockapi(t)
			for _, server := range []string{"redis-server", "java", "mariadbd"} {
				if _, err := exec.LookPath(server); err != nil {
					t.Skip("no " + server + " on PATH")
				}
			}
			tmp := ownTemp(t)
			t.Cleanup(func() { tmp.kill("") })
			running := func(text string) bool {
				for _, line := range tmp.processes() {
					if strings.Contains(line, text) {
						return true
					}
				}
				return false
			}
			tmp.killedUnderWay(t, func(string) {
				for _, server := range []string{"redis-server", "java", database, "--instance a", "guardian"} {
					require.Eventually(t, func() bool { return running(server) }, time.Minute, 10*time.Millisecond, server)
				}
				tmp.kill("guardian")
			}, "--backend", "redis-server", "--sql", database, "--rungs", "v4,v12,v13", "--repeat", "500")
			assert.Eventually(t, func() bool { return len(tmp.processes()) == 0 }, 20*time.Second, 20*time.Millisecond)
		})
	}
}

// killedUnderWay runs a loadtest, and kills it when its first cell is done and the second under way. Before that it
// calls look with the first line of its progress.
func (d tempDir) killedUnderWay(t *testing.T, look func(said string), args ...string) {
	t.Helper()
	cmd := d.command(args...)
	lines, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	defer func() { _ = cmd.Wait() }()
	said, err := bufio.NewReader(lines).ReadString('\n')
	require.NoError(t, err)
	defer func() { _ = cmd.Process.Kill() }() // also if look skips the test
	look(said)
}

// freePorts finds a free port for each of the given ones.
func freePorts(t *testing.T, ports ...string) map[string]string {
	t.Helper()
	free := map[string]string{}
	for _, p := range ports {
		free[p] = strconv.Itoa(backendtest.FreePort(t))
	}
	return free
}
