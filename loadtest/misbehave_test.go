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

// The shops of this file are what a sceptic would try loadtest with: each does all that docs/contract.md asks for but
// one thing. They are to loadtest what scripts/mutants is to the service. What a shop does is in
// misbehave_shops_test.go.

// misbehaviour is a shop and what has to be found of it.
type misbehaviour struct {
	name string
	bend func(a, b *instance)
	// rung is the one that it claims to be, v4 if none is named; two has both instances take part.
	rung string
	two  bool
	// flags are for loadtest, beside the load of all.
	flags []string
	// slow is one that takes seconds, in which nothing happens.
	slow bool

	// want are the results in the order of history.Verdicts, and code is the exit code.
	want string
	code int
	// says is a regular expression for a sentence of the output.
	says string
}

// smallLoad is that of every row: 10 units and 40 buyers, 10 at once.
var smallLoad = []string{"--requests", "40", "--concurrency", "10", "--stock", "10", "--wait", "5s"}

// holds are the results of a shop that does nothing wrong, and whose rung has a lock.
const holds = "ok ok ok ok – – –"

// holdsFenced are those of one whose rung draws fencing tokens too.
const holdsFenced = "ok ok ok ok ok – –"

func TestShopsThatMisbehave(t *testing.T) {
	t.Parallel()
	for i, m := range misbehaviours {
		t.Run(m.name, func(t *testing.T) {
			if m.slow || i > 4 { // some stand for all
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

// measure runs the row until the machine was fast enough for it to be a measurement.
func (m *misbehaviour) measure(t *testing.T) (code int, found, out string) {
	t.Helper()
	retry(func() bool {
		code, found, out = m.run(t)
		return !strings.HasPrefix(found, "invalid:") && !tooSlow(code, out)
	})
	return code, found, out
}

// run drives the shop as loadtest drives any, and returns the exit code, the results of the one cell, and the output.
func (m *misbehaviour) run(t *testing.T) (code int, found, out string) {
	t.Helper()
	a, b := newShop()
	rung := cmp.Or(m.rung, "v4")
	for _, in := range []*instance{a, b} {
		in.rungs = []string{rung}
		in.without = []string{"GET /orders/{order}"} // who asks for orders is told the truth, which is not the point here
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

// cellOf returns what became of a run of one cell; no cell if it was not run.
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

// results are those of a cell in one line, in the order of history.Verdicts; before them that it is invalid, if it is.
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

// A shop that does nothing wrong is never accused, whatever its clocks do, and however slow it is now and then.
func TestShopsThatDoNothingWrongAreNeverAccused(t *testing.T) {
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
					continue // a machine that is too slow accuses nobody
				}
				measured++
				require.Equal(t, m.want, found, "try %d:\n%s", i+1, out)
				require.Equal(t, m.code, code, "try %d:\n%s", i+1, out)
			}
		})
	}
}

// times returns the number of tries of a shop: most where all servers have to be there, too, and few for one that takes
// its time.
func (m *misbehaviour) times() int {
	switch {
	case testing.Short():
		return 1
	case m.slow || os.Getenv("STOCKAPI_REQUIRE") == "":
		return 2
	}
	return 50
}

// A server that is no shop is no shop that misbehaves: there is nothing to be judged.
func TestNotAShopAtAll(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "<html>")
	}))
	defer server.Close()
	code, _, stderr := loadtest(t, "--targets", server.URL, "--scenarios", "one-instance", "--rungs", "v4")
	assert.Equal(t, couldNotRun, code)
	assert.Regexp(t, `(?m)^loadtest: .*/rungs .*unexpected JSON`, stderr)
	assert.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
}

// An instance that dies in the middle of the load is not a client that did not send. What it may have sold is unknown,
// and nobody is accused.
func TestAShopThatDiesMidway(t *testing.T) {
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
	assert.Positive(t, c.Tally().NotSold, "a connection that is refused sells nothing: %s", out)
}
