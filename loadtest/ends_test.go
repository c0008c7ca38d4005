package main

import (
	"bufio"
	"context"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/cluster"
)

// trigger is a writer that calls then after a text has been written.
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

// small are the flags of a run whose first cell ends soon, and whose last one never runs.
var small = []string{"--requests", "20", "--concurrency", "10", "--stock", "10", "--repeat", "500",
	"--scenarios", "one-instance,two-instances"}

// An interrupted run, or one whose server dies, ends in order: it keeps its results, and leaves nothing else.
func TestEndOfRun(t *testing.T) {
	t.Parallel()
	hangup := func(_ tempDir, p *os.Process) error { return p.Signal(syscall.SIGHUP) }
	for name, c := range map[string]struct {
		end  func(tempDir, *os.Process) error
		says string
	}{
		"Ctrl-C":        {func(_ tempDir, p *os.Process) error { return p.Signal(os.Interrupt) }, ``},
		"terminal gone": {hangup, ``},
		"Redis dies": {func(d tempDir, _ *os.Process) error { d.kill("redis --addr"); return nil },
			`(?m)^loadtest: embedded redis died on its own \(signal: killed\), its last line: redis://\S+, ` +
				`with \d+ of 1000 cells measured\n$`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			needsProc(t)
			if name == "terminal gone" && signal.Ignored(syscall.SIGHUP) {
				t.Skip("under nohup no terminal ends anything")
			}
			stockapi(t)
			tmp, dir := ownTemp(t), t.TempDir()
			cmd := tmp.command(append(small, "--backend", "embedded", "--rungs", "v4", "--out", dir)...)
			var out strings.Builder
			stderr := &trigger{after: "1/", then: func() { assert.NoError(t, c.end(tmp, cmd.Process)) }}
			cmd.Stdout, cmd.Stderr = &out, stderr
			_ = cmd.Run()
			assert.Equal(t, couldNotRun, cmd.ProcessState.ExitCode())
			assert.Regexp(t, c.says, stderr)
			assert.Equal(t, c.says != "", strings.Contains(stderr.String(), "loadtest: "), "the results already report it")
			// A cell may have ended just before Redis died, with its stock unread.
			last := regexp.MustCompile(`(?m)^interrupted after \d+ of 1000 cells, (as expected so far$|no surprises, )`)
			assert.Regexp(t, last, out.String())
			assert.NotRegexp(t, `(?m)^as expected`, out.String())
			code, stdout, _ := loadtest(t, "audit", dir)
			assert.Equal(t, couldNotRun, code, "as the run itself")
			assert.Regexp(t, last, stdout)
			assert.Contains(t, stdout, "the run was not finished: ")
			assert.Empty(t, tmp.left(t))
		})
	}
}

// Nothing outlives a killed loadtest. If its guardian is killed with it, its directory is left, but no process.
func TestEndOfKilledRun(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		flags    string
		guardian bool
		servers  []string // in the command lines of its children
	}{
		{flags: "--backend embedded --rungs v4,v6", servers: []string{"redis --addr", "janitor"}},
		{flags: "--backend redis-server --rungs v4,v6", servers: []string{"redis-server"}},
		{flags: "--backend embedded --rungs v12-session --sql mariadb", servers: []string{"mariadbd"}},
		{flags: "--backend embedded --rungs v12-session --sql postgres", servers: []string{"postgres"}},
		{flags: "--backend redis-server --rungs v4,v12,v13 --sql mariadb", guardian: true,
			servers: []string{"redis-server", "java", "mariadbd"}},
		{flags: "--backend redis-server --rungs v4,v12,v13 --sql postgres", guardian: true,
			servers: []string{"redis-server", "java", "postgres"}},
	} {
		t.Run(c.flags, func(t *testing.T) {
			t.Parallel()
			needsProc(t)
			if c.guardian && runtime.GOOS != "linux" {
				t.Skip("only Linux ends processes with their parent")
			}
			stockapi(t)
			for _, server := range c.servers {
				if server == "redis-server" || server == "java" {
					need(t, server)
				}
			}
			tmp := ownTemp(t)
			t.Cleanup(func() { tmp.kill("") })
			running := func(server string) bool {
				return slices.ContainsFunc(slices.Collect(maps.Values(tmp.processes())), func(line string) bool {
					return strings.Contains(line, server)
				})
			}
			cmd := tmp.command(append(small, strings.Fields(c.flags)...)...)
			stderr := &trigger{after: "1/", then: func() {
				for _, server := range append(c.servers, "--instance a", "guardian") {
					assert.Eventually(t, func() bool { return running(server) }, time.Minute, 10*time.Millisecond, server)
				}
				if c.guardian {
					tmp.kill("guardian")
				}
				assert.NoError(t, cmd.Process.Kill())
			}}
			cmd.Stderr = stderr
			_ = cmd.Run()
			if cmd.ProcessState.ExitCode() == couldNotRun {
				skipWithout(t, c.flags, stderr.String())
			}
			assert.Negative(t, cmd.ProcessState.ExitCode(), stderr)
			assert.Eventually(t, func() bool {
				return len(tmp.processes()) == 0 && (c.guardian || len(tmp.left(t)) == 0)
			}, 20*time.Second, 20*time.Millisecond)
		})
	}
}

// skipWithout skips the test if a run reports that the database of its flags is not installed, unless STOCKAPI_REQUIRE
// names it.
func skipWithout(t *testing.T, flags, stderr string) {
	t.Helper()
	required := os.Getenv("STOCKAPI_REQUIRE")
	for _, kind := range []string{cluster.MariaDB, cluster.Postgres} {
		if strings.Contains(flags, kind) && strings.Contains(stderr, "install it") && !strings.Contains(required, kind) {
			t.Skip(stderr)
		}
	}
}

func needsProc(t *testing.T) {
	t.Helper()
	if _, err := os.Stat("/proc/self/environ"); err != nil {
		t.Skip("this system has no /proc")
	}
}

// noEnd is a script that returns all keys, those without a TTL marked "no TTL".
var noEnd = redis.NewScript(`
local found = {}
for _, key in ipairs(redis.call('KEYS', '*')) do
  if redis.call('PTTL', key) == -1 then key = key .. ' no TTL' end
  found[#found + 1] = key
end
return found`)

// A run leaves a Redis of others as it was. Since it may be killed at any instant, no key ever lacks a TTL, not even a
// lock of v1.
func TestEndOfRunOnForeignRedis(t *testing.T) {
	t.Parallel()
	needsProc(t)
	service := stockapi(t)
	url := firstLine(t, exec.Command(service, "redis", "--addr", "127.0.0.1:0", "--exit-with-stdin"))
	o, err := redis.ParseURL(url)
	require.NoError(t, err)
	client := redis.NewClient(o)
	defer client.Close()
	keys := func() []string {
		found, err := noEnd.Run(context.Background(), client, nil).StringSlice()
		require.NoError(t, err)
		return found
	}

	tmp := ownTemp(t)
	code, out, errs := untilMeasured(t, tmp.loadtest, "--backend", url, "--rungs", "v0,v5-as-printed",
		"--scenarios", "two-instances,crash,sold-out-restock")
	assert.Equal(t, asExpected, code, out+errs)
	assert.Contains(t, out, "at "+url)
	assert.Empty(t, keys())

	cmd := tmp.command("--backend", url, "--scenarios", "two-instances", "--rungs", "v1,v1.5,v5,v7,v8,v9,v10,v11,v15",
		"--requests", "12", "--concurrency", "6", "--work", "10ms")
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { tmp.kill("") })
	stays, seen := map[string]bool{}, map[string]bool{}
	ofLastRung := func() bool {
		for _, key := range keys() {
			if strings.HasSuffix(key, " no TTL") {
				stays[key] = true
			}
			_, rung, _ := strings.Cut(key[max(strings.Index(key, "lt-"), 0):], "-v")
			rung, _, _ = strings.Cut(rung, "}")
			seen[rung] = true
		}
		return seen["15"]
	}
	require.Eventually(t, ofLastRung, 2*time.Minute, time.Millisecond)
	tmp.kill("")
	_ = cmd.Wait()
	require.Eventually(t, func() bool { return len(tmp.processes()) == 0 }, 20*time.Second, 20*time.Millisecond)
	ofLastRung()
	assert.NotEmpty(t, keys(), "no process was left to remove them")
	assert.Empty(t, stays, "without a TTL")
}

// firstLine starts a command, and returns its first line of output. The command runs until its standard input ends,
// with the test.
func firstLine(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		stdin.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	return strings.TrimSpace(line)
}
