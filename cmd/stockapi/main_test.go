package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"stockapi/internal/backend/backendtest"
)

// TestMain lets the test binary act as stockapi, in a process that a test can signal.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "--redis=embedded" {
		main()
	}
	backendtest.AtOnce(8, runtime.GOMAXPROCS(0))
	goleak.VerifyTestMain(m)
}

// A running instance is run, in a goroutine.
type running struct {
	url  string
	logs *logs
	end  context.CancelFunc // as SIGTERM does
	done chan error         // what run returned
}

// start starts an instance on a free port and waits until it is ready.
func start(t testing.TB, args ...string) *running {
	t.Helper()
	return startOn(t, io.Discard, args...)
}

// startOn is start with a standard output.
func startOn(t testing.TB, stdout io.Writer, args ...string) *running {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{logs: newLogs(), end: cancel, done: make(chan error, 1)}
	args = append([]string{"--addr", "127.0.0.1:0", "--log-format", "json", "--drain-delay", "0s",
		"--sql", backendtest.SQLiteFile(t)}, args...)
	go func() { r.done <- run(ctx, args, strings.NewReader(""), stdout, r.logs) }()
	t.Cleanup(func() {
		cancel()
		<-r.done
		http.DefaultClient.CloseIdleConnections()
	})
	select {
	case line := <-r.logs.ready:
		r.url = line["url"].(string)
	case err := <-r.done:
		r.done <- err
		t.Fatal("not started: ", err)
	case <-time.After(10 * time.Second):
		t.Fatal("not ready after 10 s")
	}
	return r
}

// wait returns what run returned, after it was ended.
func (r *running) wait() error {
	err := <-r.done
	r.done <- err // the clean-up asks again
	return err
}

// An answer is a status and a body that may be JSON.
type answer struct {
	status int
	header http.Header
	body   map[string]any
	text   string
}

func (r *running) do(t testing.TB, method, path string, body io.Reader) answer {
	t.Helper()
	request, err := http.NewRequestWithContext(context.Background(), method, r.url+path, body)
	require.NoError(t, err)
	return r.send(t, request)
}

func (r *running) send(t testing.TB, request *http.Request) answer {
	t.Helper()
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	a := answer{status: response.StatusCode, header: response.Header, text: string(data)}
	_ = json.Unmarshal(data, &a.body)
	return a
}

func (r *running) post(t testing.TB, path string) answer {
	t.Helper()
	return r.do(t, http.MethodPost, path, nil)
}

func (a answer) problem() string {
	name, _ := a.body["type"].(string)
	return strings.TrimPrefix(name, "/problems/")
}

// logs collects an instance's log, a JSON object a line.
type logs struct {
	mu    sync.Mutex
	rest  []byte
	lines []map[string]any
	ready chan map[string]any
}

func newLogs() *logs { return &logs{ready: make(chan map[string]any, 1)} }

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rest = append(l.rest, p...)
	scanner := bufio.NewScanner(bytes.NewReader(l.rest[:bytes.LastIndexByte(l.rest, '\n')+1]))
	for scanner.Scan() {
		line := map[string]any{}
		_ = json.Unmarshal(scanner.Bytes(), &line)
		l.lines = append(l.lines, line)
		if line["msg"] == "ready" {
			l.ready <- line
		}
	}
	l.rest = l.rest[bytes.LastIndexByte(l.rest, '\n')+1:]
	return len(p), nil
}

// since returns the messages logged after the first n lines.
func (l *logs) since(n int) (messages []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range l.lines[n:] {
		messages = append(messages, line["msg"].(string))
	}
	return messages
}

func (l *logs) len() int { return len(l.since(0)) }

// text returns the whole log.
func (l *logs) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	data, _ := json.Marshal(l.lines)
	return string(data)
}
