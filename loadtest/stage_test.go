package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/audit"
	"stockapi/loadtest/history"
	"stockapi/loadtest/report/terminal"
	"stockapi/loadtest/stage"
)

// Errors take one line, and come before anything is started.
func TestStageErrors(t *testing.T) {
	taken, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	port, file := taken.Addr().(*net.TCPAddr).Port, filepath.Join(t.TempDir(), "bad.yaml")
	require.NoError(t, os.WriteFile(file, []byte("- title: t\n  rung: v4\n  leese: 6s\n"), 0o600))
	for args, want := range map[string]string{
		"--port 70000":                    "invalid port: choose another port with --port",
		"--port 65535":                    "invalid port: choose another port with --port", // the phones'
		fmt.Sprint("--port ", port):       "choose another port with --port",
		fmt.Sprint("--port ", port-1):     "choose another port with --port",
		"--port seven":                    "--port: expected ",
		"--port 0 --rounds " + file:       `unknown field "leese"`,
		"--port 0 --rounds " + file + "x": "--rounds: open " + file + "x: ",
		"--replay " + file:                "this is not the log of a class, such as stage.jsonl",
		"--replay " + file + "x":          "--replay: open " + file + "x: ",
		"--port 0 --out " + file:          "--out: ",
		"--language fr":                   "--language must be one of",
	} {
		t.Run(args, func(t *testing.T) {
			if !strings.Contains(args, "--out") {
				args += " --out " + t.TempDir()
			}
			code, stdout, stderr := loadtest(t, strings.Fields("stage "+args)...)
			assert.Equal(t, couldNotRun, code)
			assert.Empty(t, stdout)
			assert.Contains(t, stderr, want)
			assert.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
		})
	}
}

// A class is kept beside the last run, and leaves nothing else, however it ends.
func TestStage(t *testing.T) {
	t.Parallel()
	needsProc(t)
	stockapi(t)
	tmp, out := ownTemp(t), t.TempDir()
	of := filepath.Join(out, "class")
	for _, name := range []string{"report.html", "results.jsonl.gz"} {
		require.NoError(t, os.WriteFile(filepath.Join(out, name), []byte("of the last run"), 0o600))
	}
	rounds := filepath.Join(t.TempDir(), "rounds.yaml")
	require.NoError(t, os.WriteFile(rounds, []byte("- {title: two at once, rung: v0, lease: 1s, work: 300ms}"), 0o600))
	args := []string{"stage", "--backend", "embedded", "--port", "0", "--rounds", rounds, "--out", out}

	c := tmp.stage(t, args...)
	c.open(t)
	for _, do := range []string{"anna", "bert"} {
		c.post(t, c.wall+"do", `{"do":%q}`, do)
	}
	for _, do := range []string{"again", "verdict"} {
		c.post(t, c.wall+"do", `{"do":%q}`, do)
	}
	kept := []string{"matrix.txt", "report.html", "results.jsonl.gz", "stage.html", "stage.jsonl"}
	require.Eventually(t, func() bool { return assert.ObjectsAreEqual(kept, namesIn(t, of)) }, 30*time.Second,
		20*time.Millisecond)
	require.NoError(t, c.process.Signal(os.Interrupt))
	assert.Equal(t, asExpected, c.ended(t))
	assert.Empty(t, tmp.left(t))
	c.unreachable(t)

	assert.Equal(t, []string{"class", "report.html", "results.jsonl.gz"}, namesIn(t, out))
	for _, name := range []string{"report.html", "results.jsonl.gz"} {
		assert.Equal(t, "of the last run", readFile(t, out, name))
	}
	code, stdout, stderr := loadtest(t, "audit", of)
	assert.Equal(t, asExpected, code, stdout+stderr)
	assert.Contains(t, stdout, "1 round was played, as scripted")
	run, err := history.Open(of)
	require.NoError(t, err)
	require.Len(t, run.Cells, 1)
	var verdict struct {
		Kind     string
		Twice    int
		Findings []struct{ Letter, Result string }
	}
	for line := range strings.Lines(readFile(t, of, "stage.jsonl")) {
		if verdict.Kind != "verdict" {
			require.NoError(t, json.Unmarshal([]byte(line), &verdict))
		}
	}
	assert.Equal(t, 1, verdict.Twice)
	broken := []string{}
	for _, f := range verdict.Findings {
		if f.Result == string(history.Broken) {
			broken = append(broken, f.Letter)
		}
	}
	assert.Equal(t, []string{"S"}, broken)
	findings, _ := audit.Judge(run.Cells[0], history.TimelineOf(run.Cells[0], history.Terms{}))
	assert.Equal(t, strings.Join(broken, ""), terminal.LettersOf(findings, history.Broken))
	assert.Contains(t, readFile(t, of, "stage.html"), "two at once")

	c = tmp.stage(t, "stage", "--port", "0", "--replay", filepath.Join(of, "stage.jsonl"))
	assert.Equal(t, http.StatusOK, c.get(t, c.wall))
	require.NoError(t, c.process.Signal(os.Interrupt))
	assert.Equal(t, asExpected, c.ended(t))

	c = tmp.stage(t, args...) // a class that is killed during its sale
	c.open(t)
	c.post(t, c.wall+"do", `{"do":"anna"}`)
	require.NoError(t, c.process.Kill())
	c.ended(t)
	assert.Eventually(t, func() bool { return len(tmp.left(t)) == 0 }, 20*time.Second, 20*time.Millisecond)
	c.unreachable(t)
}

// A request whose body never arrives does not hold its connection, and the stream of a wall has no timeout.
func TestStageDropsSlowRequests(t *testing.T) {
	const log = `{"n":1,"at":5,"kind":"round","round":{"number":1}}`
	synctest.Test(t, func(t *testing.T) {
		recording, err := stage.ReadRecording(strings.NewReader(log), "en")
		require.NoError(t, err)
		ctx, end := context.WithCancel(t.Context())
		l := make(pipes)
		served := make(chan error)
		go func() { served <- serve(ctx, map[net.Listener]http.Handler{l: recording.Wall()}) }()
		ask := func(request string, lasts time.Duration) error {
			conn, remote := net.Pipe()
			l <- remote
			defer conn.Close()
			_ = conn.SetDeadline(time.Now().Add(lasts))
			_, err := io.WriteString(conn, request)
			require.NoError(t, err)
			_, err = io.Copy(io.Discard, conn)
			return err
		}
		for _, line := range []string{"POST /", "POST /do", "POST /none", "GET /wall.js"} {
			assert.NoError(t, ask(line+" HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n", time.Minute), line)
		}
		err = ask("GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n", time.Hour)
		assert.ErrorIs(t, err, os.ErrDeadlineExceeded, "of this test")
		end()
		assert.NoError(t, <-served)
	})
}

// pipes is an in-memory listener.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	if conn, open := <-p; open {
		return conn, nil
	}
	return nil, net.ErrClosed
}

func (p pipes) Close() error {
	close(p)
	return nil
}

func (p pipes) Addr() net.Addr { return &net.TCPAddr{} }

// A stageProcess is a class in a process of its own.
type stageProcess struct {
	process      *os.Process
	wall, phones string // the addresses that it printed
	code         string // of the class
	ended        func(*testing.T) (code int)
}

// stage starts a class, and waits until it can be joined.
func (d tempDir) stage(t *testing.T, args ...string) *stageProcess {
	t.Helper()
	cmd, begun := d.command(args...), make(chan struct{})
	t.Cleanup(func() { d.kill("") })
	var stderr strings.Builder
	stdout := &trigger{after: "Ctrl-C ends", then: func() { close(begun) }}
	cmd.Stdout, cmd.Stderr = stdout, &stderr
	require.NoError(t, cmd.Start())
	wait := sync.OnceValue(cmd.Wait)
	go func() { _ = wait() }()
	ended := func(t *testing.T) int {
		_ = wait()
		return cmd.ProcessState.ExitCode()
	}
	select {
	case <-begun:
	case <-time.After(time.Minute):
		require.NoError(t, cmd.Process.Kill())
		require.FailNow(t, "it did not start", "%d %s", ended(t), &stderr)
	}
	said := stdout.String()
	c := &stageProcess{process: cmd.Process, ended: ended}
	c.wall = regexp.MustCompile(`wall.*: (\S+)`).FindStringSubmatch(said)[1]
	if phones := regexp.MustCompile(`phones: (\S+/)([A-Z]{4})\n`).FindStringSubmatch(said); phones != nil {
		c.phones, c.code = phones[1], phones[2]
	}
	return c
}

// open has a person join and vote, and then the class buy.
func (c *stageProcess) open(t *testing.T) {
	t.Helper()
	var person struct{ ID string }
	require.NoError(t, json.Unmarshal(c.post(t, c.phones+"join", `{"code":%q}`, c.code), &person))
	c.post(t, c.wall+"do", `{"do":"vote"}`)
	c.post(t, c.phones+"vote", `{"id":%q,"letters":"S","twice":"1"}`, person.ID)
	c.post(t, c.wall+"do", `{"do":"vote"}`)
}

func (c *stageProcess) post(t *testing.T, address, body string, values ...any) []byte {
	t.Helper()
	answer, err := http.Post(address, "application/json", strings.NewReader(fmt.Sprintf(body, values...)))
	require.NoError(t, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.Less(t, answer.StatusCode, 300, "%s: %s", address, text)
	return text
}

func (c *stageProcess) get(t *testing.T, address string) int {
	t.Helper()
	answer, err := http.Get(address)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	return answer.StatusCode
}

// unreachable asserts that nothing listens any more.
func (c *stageProcess) unreachable(t *testing.T) {
	t.Helper()
	for _, address := range []string{c.wall, c.phones} {
		_, err := net.Dial("tcp4", strings.Trim(strings.TrimPrefix(address, "http:"), "/"))
		assert.Error(t, err, address)
	}
}

// The default route comes first, and a VPN last, even if it has all traffic: no phone is there.
func TestStageAddress(t *testing.T) {
	t.Parallel()
	of := map[string]string{"lo": "127.0.0.1", "eth0": "192.168.1.5", "docker0": "172.17.0.1", "wg0": "10.8.0.2",
		"x": "10.9.0.2"}
	addrs := func(i *net.Interface) ([]net.Addr, error) {
		return []net.Addr{&net.IPNet{IP: net.ParseIP(of[i.Name])}, &net.IPNet{IP: net.ParseIP("fe80::1")}}, nil
	}
	all := []net.Interface{{Name: "lo"}, {Name: "wg0"}, {Name: "docker0"}, {Name: "eth0"},
		{Name: "x", Flags: net.FlagPointToPoint}}
	for _, first := range []string{"192.168.1.5", "10.9.0.2", ""} {
		want := []string{"192.168.1.5", "10.8.0.2", "172.17.0.1", "10.9.0.2"}
		assert.Equal(t, want, hostsOf(all, addrs, first), first)
	}
}
