package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/backend/backendtest"
	"stockapi/loadtest/history"
)

// The shops of this file break docs/contract.md in ways that only HTTP shows: an answer that fails or never comes, a
// clock, a process. Forged histories of package audit hold what it says of the answers.

const buyers = 40

// smallLoad has 10 units and 40 buyers, 10 at once.
var smallLoad = []string{"--rungs", "v4", "--requests", "40", "--concurrency", "10", "--stock", "10"}

func TestShopsThatMisbehave(t *testing.T) {
	t.Parallel()
	for name, m := range map[string]struct {
		bend func(shop *instance)
		wait string
		slow bool
		want string // the results
		says string // a pattern of the output
	}{
		"an order that hangs": {func(shop *instance) {
			shop.sell = func(o *order) {
				o.wait = time.Second
				shop.underLock(o)
			}
			shop.tell = func(o *order) {
				if o.number == 3 {
					<-o.request.Context().Done()
					o.status = 0
				}
			}
		}, "0s", true, "unknown unknown unknown ok – – –", `1 (units?|orders?)`},
		"500 after each sale": {func(shop *instance) {
			shop.tell = func(o *order) {
				if o.status == http.StatusOK {
					o.status, o.doc = http.StatusInternalServerError, map[string]any{}
				}
			}
		}, "5s", false, "unknown unknown unknown ok – – –", `10 (units|orders)`},
		"a clock that is stepped forward": {func(shop *instance) {
			shop.now = func() time.Time {
				if shop.arrived() > buyers/2 {
					return time.Now().Add(2 * time.Second)
				}
				return time.Now()
			}
		}, "5s", false, "invalid: unknown unknown unknown unknown – – –", `was stepped during the cell`},
	} {
		t.Run(name, func(t *testing.T) {
			if m.slow {
				backendtest.Long(t)
			}
			t.Parallel()
			var code int
			var found, out string
			retry(func() bool { // the machine may be too slow for a measurement
				shop, _ := newShop()
				shop.without = []string{"GET /orders/{order}"} // it would reveal the truth
				m.bend(shop)
				args := append([]string{"--targets", shop.serve(t), "--scenarios", "one-instance", "--wait", m.wait}, smallLoad...)
				var c *history.Cell
				code, c, out = cellOf(t, args...)
				found = results(c)
				return found == m.want || !tooSlow(code, out)
			})
			assert.Equal(t, m.want, found, out)
			assert.Equal(t, couldNotRun, code, out)
			assert.Regexp(t, m.says, out)
		})
	}
}

// cellOf runs loadtest, and returns the one cell of the run.
func cellOf(t *testing.T, args ...string) (code int, c *history.Cell, out string) {
	t.Helper()
	dir := t.TempDir()
	code, stdout, stderr := loadtest(t, append(args, "--out", dir)...)
	recorded, err := history.Open(dir)
	require.NoError(t, err, stdout+stderr)
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
	args := append([]string{"--targets", a.serve(t) + "," + server.URL, "--scenarios", "two-instances", "--wait", "5s"},
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
