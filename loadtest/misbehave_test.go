package main

import (
	"cmp"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/backend/backendtest"
	"stockapi/loadtest/history"
)

// The shops of this file are a sceptic's tests of loadtest: each breaks docs/contract.md in one way. They are to
// loadtest what scripts/mutants is to the service. Their code is in misbehave_shops_test.go.

// misbehaviour is a shop and the required result.
type misbehaviour struct {
	name string
	bend func(a, b *instance)
	// rung is the rung that the shop claims to have, by default v4; two uses both instances.
	rung string
	two  bool
	// flags are flags of loadtest, in addition to smallLoad.
	flags []string
	// slow marks a shop that mostly waits, for seconds.
	slow bool

	// want are the results in the order of history.Verdicts, and code is the exit code.
	want string
	code int
	// says is a pattern of the output.
	says string
}

// smallLoad is the load of every row: 10 units and 40 buyers, 10 at once.
var smallLoad = []string{"--requests", "40", "--concurrency", "10", "--stock", "10", "--wait", "5s"}

// holds are the results of a correct shop whose rung has a lock.
const holds = "ok ok ok ok – – –"

// holdsFenced are the results of a correct shop whose rung also draws fencing tokens.
const holdsFenced = "ok ok ok ok ok – –"

func TestShopsThatMisbehave(t *testing.T) {
	t.Parallel()
	for i, m := range misbehaviours {
		t.Run(m.name, func(t *testing.T) {
			if m.slow || i > 4 { // -short runs some of them
				backendtest.Long(t)
			}
			t.Parallel()
			code, found, out := m.measure(t)
			assert.Equal(t, m.want, found, out)
			assert.Equal(t, m.code, code, out)
			assert.Regexp(t, m.says, out)
		})
	}
}

// measure runs the row again while the machine was too slow for a measurement.
func (m *misbehaviour) measure(t *testing.T) (code int, found, out string) {
	t.Helper()
	retry(func() bool {
		code, found, out = m.run(t)
		return !strings.HasPrefix(found, "invalid:") && !tooSlow(code, out)
	})
	return code, found, out
}

// run runs loadtest on the shop, and returns the exit code, the results of the one cell, and the output.
func (m *misbehaviour) run(t *testing.T) (code int, found, out string) {
	t.Helper()
	a, b := newShop()
	rung := cmp.Or(m.rung, "v4")
	for _, in := range []*instance{a, b} {
		in.rungs = []string{rung}
		in.without = []string{"GET /orders/{order}"} // it would reveal the truth
	}
	if m.bend != nil {
		m.bend(a, b)
	}
	urls, scenario := a.serve(t), "one-instance"
	if m.two {
		urls, scenario = urls+","+b.serve(t), "two-instances"
	}
	args := append([]string{"--targets", urls, "--scenarios", scenario, "--rungs", rung}, smallLoad...)
	code, c, out := cellOf(t, append(args, m.flags...)...)
	if c == nil {
		return code, "", out
	}
	return code, results(c), out
}

// cellOf runs loadtest, and returns the one cell of the run, or nil if there is no run.
func cellOf(t *testing.T, args ...string) (code int, c *history.Cell, out string) {
	t.Helper()
	dir := t.TempDir()
	code, stdout, stderr := loadtest(t, append(args, "--out", dir)...)
	recorded, err := history.Open(dir)
	if err != nil {
		return code, nil, stdout + stderr
	}
	require.Len(t, recorded.Cells, 1, stdout+stderr)
	return code, recorded.Cells[0], stdout + stderr
}

// results returns the results of a cell on one line, in the order of history.Verdicts, after "invalid:" if it is.
func results(c *history.Cell) string {
	var all []string
	if valid := c.Finding(history.Valid).Result; valid == history.Invalid {
		all = append(all, "invalid:")
	}
	for _, v := range history.Verdicts {
		all = append(all, string(c.Finding(v).Result))
	}
	return strings.Join(all, " ")
}

// A correct shop is never accused, whatever its clocks do, and however slow it is at times.
func TestCorrectShopsAreNotAccused(t *testing.T) {
	t.Parallel()
	for i, m := range innocents {
		t.Run(m.name, func(t *testing.T) {
			if i > 0 {
				backendtest.Long(t)
			}
			t.Parallel()
			for i, measured := 0, 0; measured < m.times() && i < 2*m.times(); i++ {
				code, found, out := m.run(t)
				require.NotContains(t, found, "BROKEN", "try %d:\n%s", i+1, out)
				require.NotEmpty(t, found, out)
				if tooSlow(code, out) {
					continue // no measurement
				}
				measured++
				require.Equal(t, m.want, found, "try %d:\n%s", i+1, out)
				require.Equal(t, m.code, code, "try %d:\n%s", i+1, out)
			}
		})
	}
}

// times returns how often a shop is tried: more often where all servers are required, less often if it is slow.
func (m *misbehaviour) times() int {
	switch {
	case testing.Short():
		return 1
	case m.slow || os.Getenv("STOCKAPI_REQUIRE") == "":
		return 2
	}
	return 50
}

// A server that is no shop does not misbehave: there is nothing to judge.
func TestServerIsNoShop(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "<html>")
	}))
	defer server.Close()
	code, _, stderr := loadtest(t, "--targets", server.URL, "--scenarios", "one-instance", "--rungs", "v4")
	assert.Equal(t, couldNotRun, code)
	assert.Regexp(t, `(?m)^loadtest: .*/rungs .*unexpected JSON`, stderr)
	assert.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
}

// If an instance dies during the load, its last sales are of unknown outcome, and nothing is BROKEN. The requests count
// as sent.
func TestShopDiesDuringLoad(t *testing.T) {
	a, b := newShop()
	server, died := httptest.NewServer(b.handler()), make(chan struct{})
	die := sync.OnceFunc(func() {
		defer close(died)
		server.CloseClientConnections()
		server.Close()
	})
	b.tell = func(o *order) {
		if o.number >= buyers/2 {
			o.status = 0
			go die()
		}
	}
	args := append([]string{"--targets", a.serve(t) + "," + server.URL, "--scenarios", "two-instances", "--rungs", "v4"},
		smallLoad...)
	code, c, out := cellOf(t, append(args, "--stock", "100")...)
	<-died
	assert.Equal(t, couldNotRun, code, out)
	assert.Equal(t, history.OK, c.Finding(history.Valid).Result, out)
	for _, v := range history.Verdicts {
		assert.NotEqual(t, history.Broken, c.Finding(v).Result, out)
	}
	assert.Zero(t, c.Tally().NotSent, out)
	assert.Positive(t, c.Tally().Unknown, out)
	assert.Positive(t, c.Tally().NotSold, "a refused connection sells nothing: %s", out)
}
