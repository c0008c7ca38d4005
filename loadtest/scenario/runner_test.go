package scenario_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/client"
	"stockapi/loadtest/history"
	"stockapi/loadtest/scenario"
)

// busyShop knows the rung, and never lets anybody have its lock.
func busyShop(t *testing.T, rung string) *httptest.Server {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /rungs", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"instance":"busy","rungs":[{"number":%q,"available":true}]}`, rung)
	})
	mux.HandleFunc("GET /stock/{p}", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"quantity":100}`) })
	mux.HandleFunc("PUT /stock/{p}", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /faults", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"held":[]}`) })
	mux.HandleFunc("POST /{rung}/decrease", func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusLocked)
		fmt.Fprintf(w, `{"type":"/problems/lock-busy","order":%q,"outcome":"not-sold"}`, r.Header.Get("X-Request-ID"))
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server
}

// A fault that does not happen is a surprise of its cell, with all that was measured by then. It is no reason to
// give up the rest of the run.
func TestMissingFaultIsASurprise(t *testing.T) {
	server := busyShop(t, "v4")
	specs, err := scenario.Table.Select([]string{"check-delete-gap"}, []string{"v4"}, 2, 1)
	require.NoError(t, err)
	c := client.New(2, "")
	defer c.Close()
	runner := &scenario.Runner{Client: c, Targets: &scenario.FaultTargets{}}
	cell, err := runner.Run(t.Context(), specs[0], "p", []string{server.URL, server.URL})
	require.NoError(t, err)
	assert.Contains(t, cell.Aborted, "order p-anna was to be held (hold@before:release), but was answered: busy")
	assert.Len(t, cell.Ops, 3, "two to open, and the one that was to be held")
	assert.Equal(t, history.OK, cell.Finding(history.Stock).Result)
	surprises := specs[0].Scenario.Assess(cell).Surprises
	require.NotEmpty(t, surprises)
	assert.Contains(t, surprises[0], "check-delete-gap v4 lua-release: could not be completed: order p-anna")
	assert.Equal(t, 0, scenario.Table.Assess([]*history.Cell{cell})[0].Met)
}

// What two instances did to one key over wires of their own, they did to one key.
func TestServersAreNamedByTheirOwnAddresses(t *testing.T) {
	if testing.Short() {
		t.Skip("takes longer than a second")
	}
	t.Parallel()
	mux := http.NewServeMux()
	mux.HandleFunc("POST /{rung}/decrease", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"order":%q,"quantity":1,"units":[1],"instance":"a",`+
			`"trace":[{"node":"link:1","cmd":"del"},{"node":"other:1","cmd":"get"}]}`,
			r.Header.Get("X-Request-ID"))
	})
	mux.Handle("/", busyShop(t, "v2").Config.Handler)
	server := httptest.NewServer(mux)
	defer server.Close()
	specs, err := scenario.Table.Select([]string{"sold-out-restock"}, []string{"v2"}, 2, 1)
	require.NoError(t, err)
	c := client.New(2, "")
	defer c.Close()
	runner := &scenario.Runner{Client: c,
		Targets: &scenario.FaultTargets{Behind: map[string]string{"link:1": "redis:1"}}}
	cell, err := runner.Run(t.Context(), specs[0], "p", []string{server.URL, server.URL})
	require.NoError(t, err)
	for _, op := range cell.Ops {
		assert.Equal(t, "redis:1", op.Trace[0].Node)
		assert.Equal(t, "other:1", op.Trace[1].Node)
	}
}
