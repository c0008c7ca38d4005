package stage_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"stockapi/internal/backend/backendtest"
	"stockapi/loadtest/cluster"
	"stockapi/loadtest/stage"
)

// TestMain makes this test binary its own guardian, which a class starts.
func TestMain(m *testing.M) {
	cluster.GuardMain()
	rounds := 7 // they mostly wait for leases to expire
	if os.Getenv("STOCKAPI_REQUIRE") != "" {
		rounds = 3 // there is a browser too
	}
	backendtest.AtOnce(rounds, rounds)
	// Under the race detector each process that the tests start would sleep for a second before it exits.
	_ = os.Setenv("GORACE", os.Getenv("GORACE")+" atexit_sleep_ms=0")
	builtIn, _ = os.MkdirTemp("", "stage-test-")
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		_ = os.RemoveAll(builtIn)
		os.Exit(code)
	}))
}

// builtIn is the directory into which stockapi is built, once.
var builtIn string

var build = sync.OnceValues(func() (path string, err error) {
	path = filepath.Join(builtIn, "stockapi.exe")
	out, err := exec.Command("go", "build", "-ldflags", "-s -w", "-o", path, "stockapi/cmd/stockapi").CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, out)
	}
	return path, err
})

// A class is a stage as loadtest serves it, with the events of its wall.
type class struct {
	t               *testing.T
	stage           *stage.Stage
	teacher, phones string // the addresses of the pages
	code            string // of the room
	log             *lines
	wall            *wall
}

const code = "KXQP"

// open begins a class at four times the rounds' pace, so that a round takes seconds. It ends with the test. The servers
// are embedded, unless STOCKAPI_REQUIRE names real ones.
func open(t *testing.T, rounds ...stage.Round) *class {
	t.Helper()
	return openAt(t, 4, rounds...)
}

// openAt begins a class with the rounds' durations divided by pace.
func openAt(t *testing.T, pace time.Duration, rounds ...stage.Round) *class {
	t.Helper()
	backendtest.Long(t)
	path, err := build()
	require.NoError(t, err)
	for i := range rounds {
		for _, d := range []*time.Duration{&rounds[i].Lease, &rounds[i].Work, &rounds[i].Wait} {
			*d /= pace
		}
	}
	servers := "embedded"
	if strings.Contains(os.Getenv("STOCKAPI_REQUIRE"), backendtest.RedisServer) {
		servers = backendtest.RedisServer
	}
	c := &class{t: t, log: &lines{}, code: code}
	c.stage, _, err = stage.Open(t.Context(), stage.Options{
		Cluster: cluster.Options{Backend: servers, Stockapi: path}, Rounds: rounds, Language: "en", Log: c.log,
		Keep: func(*stage.Stage) error { return nil }, Code: code, Addresses: []string{"127.0.0.1:7071"},
	})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, c.stage.Close()) })
	c.teacher, c.phones = serve(t, c.stage.Teacher()), serve(t, c.stage.Phones())
	c.wall = watch(t, c.teacher)
	return c
}

// serve serves a page until the test ends, and returns its address.
func serve(t *testing.T, page http.Handler) string {
	server := httptest.NewServer(page)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server.URL
}

// lines is a log that can be read while it is written.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// numbers returns the numbers of the events without the drawings.
func (l *lines) numbers() (all []int) {
	for line := range strings.Lines(l.String()) {
		var e event
		if json.Unmarshal([]byte(line), &e) == nil && e.Kind != "drawing" {
			all = append(all, e.N)
		}
	}
	return all
}

// An event has the fields of all kinds that the tests check.
type event struct {
	N        int
	At       float64
	Kind     string
	Round    map[string]any
	Phase    string
	Persons  any // their number, or the names of those that share a unit
	Here     int
	Voted    int
	First    *votes
	Second   *votes
	Order    string
	Person   string
	Instance string
	State    string
	Outcome  string
	Units    []int64
	Role     string
	Refused  bool
	Keys     []struct{ Key, Order, Instance string }
	Trace    []struct{ Done bool }
	Sign     string
	What     string
	After    string
	Drawing  map[string]any
	Commands []int
	Unit     int64
	Twice    int
	Letter   string
	Findings []struct{ Letter, Result string }
	Best     []struct {
		Person string
		Points int
	}
	Error string

	text string
}

func eventsOf(t *testing.T, log string) (events []event) {
	for line := range strings.Lines(log) {
		e := event{text: line}
		require.NoError(t, json.Unmarshal([]byte(line), &e), line)
		events = append(events, e)
	}
	return events
}

// votes are the counts of a vote.
type votes struct{ Letters, Twice map[string]int }

// broken returns the letters of the broken verdicts.
func (e *event) broken() string {
	var letters strings.Builder
	for _, f := range e.Findings {
		if f.Result == "BROKEN" {
			letters.WriteString(f.Letter)
		}
	}
	return letters.String()
}

// isUnknown reports whether a verdict is unknown, such as R if the reply to a release was too late.
func (e *event) isUnknown() bool {
	return slices.ContainsFunc(e.Findings, func(f struct{ Letter, Result string }) bool { return f.Result == "unknown" })
}

// A wall is a page that reads the events of a round.
type wall struct {
	t *testing.T

	mu     sync.Mutex
	events []event
	fresh  int // how often the server restarted it for a new round
	heard  chan struct{}
}

// watch opens a wall at the address of the teacher's page.
func watch(t *testing.T, teacher string) *wall {
	w := &wall{t: t, heard: make(chan struct{})}
	stream(t, teacher+"/events", func(data []byte) {
		var message struct {
			Fresh  bool
			Events []json.RawMessage
		}
		if !assert.NoError(t, json.Unmarshal(data, &message), string(data)) {
			return
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		if message.Fresh {
			w.events, w.fresh = nil, w.fresh+1
		}
		for _, text := range message.Events {
			e := event{text: string(text)}
			assert.NoError(t, json.Unmarshal(text, &e), e.text)
			w.events = append(w.events, e)
		}
		close(w.heard)
		w.heard = make(chan struct{})
	})
	return w
}

func (w *wall) all() []event {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.events)
}

// await waits for the round's first event of a kind that is accepts; a nil is accepts all.
func (w *wall) await(kind string, is func(*event) bool) *event {
	w.t.Helper()
	deadline := time.After(30 * time.Second)
	for {
		w.mu.Lock()
		events, heard := w.events, w.heard
		w.mu.Unlock()
		for _, e := range events {
			if e.Kind == kind && (is == nil || is(&e)) {
				return &e
			}
		}
		select {
		case <-heard:
		case <-deadline:
			for _, e := range events[max(0, len(events)-20):] {
				w.t.Log(e.text)
			}
			require.FailNow(w.t, "no such event came: "+kind)
		}
	}
}

// stream reads the messages of a stream until the test or the returned function ends it.
func stream(t *testing.T, address string, heard func(data []byte)) (end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	require.NoError(t, err)
	answer, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, answer.StatusCode)
	require.Equal(t, "text/event-stream", answer.Header.Get("Content-Type"))
	done := make(chan struct{})
	go func() {
		defer close(done)
		lines := bufio.NewScanner(answer.Body)
		lines.Buffer(nil, 4<<20)
		for lines.Scan() {
			if data, is := bytes.CutPrefix(lines.Bytes(), []byte("data: ")); is {
				heard(data)
			}
		}
	}()
	end = func() {
		cancel()
		_ = answer.Body.Close()
		<-done
	}
	t.Cleanup(end)
	return end
}

// post sends a body, as JSON unless it is a string, and returns the status and the body of the answer.
func post(t *testing.T, address string, body any) (status int, text string) {
	t.Helper()
	raw, is := body.(string)
	if !is {
		b, err := json.Marshal(body)
		require.NoError(t, err)
		raw = string(b)
	}
	answer, err := http.Post(address, "application/json", strings.NewReader(raw))
	require.NoError(t, err)
	defer answer.Body.Close()
	b, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return answer.StatusCode, string(b)
}

// do carries out an action of the teacher, at an instance or at the default one.
func (c *class) do(name string, at ...string) {
	c.t.Helper()
	status, text := c.tryTo(name, at...)
	require.Equal(c.t, http.StatusNoContent, status, "%s: %s", name, text)
}

func (c *class) tryTo(name string, at ...string) (status int, text string) {
	c.t.Helper()
	return post(c.t, c.teacher+"/do", map[string]any{"do": name, "at": strings.Join(at, "")})
}

type phone struct {
	class *class
	id    string

	mu     sync.Mutex
	latest state
	size   int // of the largest state
	count  int // of the states received
	heard  chan struct{}
	leave  func() // closes the page
}

// A state is the content of a phone's page.
type state struct {
	Person, Instance, Phase string
	Round                   struct{ Number int }
	Voted                   bool
	Votes, Here             int
	Buying                  bool
	Orders                  []struct {
		Outcome string
		Units   []int64
	}
	Twice []struct {
		Unit  int64
		Times int
		With  []string
	}
	Turn       bool
	MyTurn     string
	Points, Of int
	Verdict    string
}

// join adds a person, whose phone opens its page.
func (c *class) join() *phone {
	c.t.Helper()
	p := &phone{class: c, heard: make(chan struct{})}
	status, text := post(c.t, c.phones+"/join", map[string]string{"code": c.code})
	require.Equal(c.t, http.StatusOK, status, text)
	var answer struct{ ID string }
	require.NoError(c.t, json.Unmarshal([]byte(text), &answer))
	p.id = answer.ID
	p.leave = p.open()
	p.await(func(s *state) bool { return s.Person != "" })
	return p
}

// open opens the phone's page again, and returns a function that closes it.
func (p *phone) open() (end func()) {
	p.class.t.Helper()
	p.mu.Lock()
	p.latest = state{}
	p.mu.Unlock()
	return stream(p.class.t, p.class.phones+"/me?id="+p.id, func(data []byte) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.latest = state{}
		assert.NoError(p.class.t, json.Unmarshal(data, &p.latest), string(data))
		p.size, p.count = max(p.size, len(data)), p.count+1
		close(p.heard)
		p.heard = make(chan struct{})
	})
}

// await waits for a state that is accepts.
func (p *phone) await(is func(*state) bool) *state {
	p.class.t.Helper()
	deadline := time.After(30 * time.Second)
	for {
		p.mu.Lock()
		latest, heard := p.latest, p.heard
		p.mu.Unlock()
		if is(&latest) {
			return &latest
		}
		select {
		case <-heard:
		case <-deadline:
			require.FailNow(p.class.t, "the phone does not get there", "%+v", latest)
		}
	}
}

// states returns the number of states received, and largest the size of the largest.
func (p *phone) states() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.count
}

func (p *phone) largest() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.size
}

func (p *phone) send(path string, message map[string]any) int {
	p.class.t.Helper()
	message["id"] = p.id
	status, _ := post(p.class.t, p.class.phones+path, message)
	return status
}

func (p *phone) vote(letters, twice string) int {
	p.class.t.Helper()
	return p.send("/vote", map[string]any{"letters": letters, "twice": twice})
}

func (p *phone) buy(tap string) int {
	p.class.t.Helper()
	return p.send("/buy", map[string]any{"tap": tap})
}

// ownRounds returns the rounds of the workshop with these rungs, or all.
func ownRounds(t *testing.T, rungs ...string) (some []stage.Round) {
	t.Helper()
	all, err := stage.ReadRounds("", "en")
	require.NoError(t, err)
	for _, r := range all {
		if len(rungs) == 0 || slices.Contains(rungs, r.Rung) {
			some = append(some, r)
		}
	}
	return some
}

var errNone = errors.New("no key")

// keyOf returns the action of a key of the teacher's page.
func keyOf(line string) (do string, err error) {
	key, _, _ := strings.Cut(line, ":")
	do, is := map[string]string{"A": "anna", "B": "bert", "E": "all", "P": "pause", "C": "continue", "K": "kill",
		"X": "cut", "S": "slow", "Space": "step"}[key]
	if !is {
		return "", errNone
	}
	return do, nil
}
