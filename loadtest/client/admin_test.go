package client_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/client"
)

func serve(t *testing.T, mux *http.ServeMux) (*client.Client, string) {
	t.Helper()
	server := httptest.NewServer(mux)
	c := client.New(2, "secret")
	t.Cleanup(func() {
		c.Close()
		server.Close()
	})
	return c, server.URL
}

func TestAdminRoutes(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("PUT /stock/p", func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		assert.JSONEq(t, `{"quantity":100}`, string(body))
		assert.Equal(t, "Bearer secret", r.Header.Get("Authorization"))
	})
	mux.HandleFunc("GET /stock/p",
		func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"product":"p","quantity":0}`) })
	mux.HandleFunc("DELETE /stock/p", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	asked := 0
	mux.HandleFunc("DELETE /locks/p", func(w http.ResponseWriter, _ *http.Request) {
		if asked++; asked < 3 { // the backend is slow
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	mux.HandleFunc("GET /rungs", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"instance":"a","clock":"m",`+
			`"rungs":[{"number":"v6","name":{},"wait":20,"needs":["5 nodes"],"available":false}]}`)
	})
	c, url := serve(t, mux)
	require.NoError(t, c.SetStock(t.Context(), url, "p", 100))
	left, err := c.Stock(t.Context(), url, "p")
	require.NoError(t, err)
	assert.Zero(t, left)
	require.NoError(t, c.Forget(t.Context(), url, "p"))
	assert.Equal(t, 3, asked)
	ladder, err := c.Ladder(t.Context(), url)
	require.NoError(t, err)
	rung, known := ladder.Rung("v6")
	assert.True(t, known)
	assert.False(t, rung.Available)
	_, known = ladder.Rung("v7")
	assert.False(t, known)
}

func TestAdminErrorsQuoteTheAnswer(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /stock/p", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprint(w, `{"type":"/problems/backend-away","detail":"no Redis"}`)
	})
	mux.HandleFunc("PUT /stock/p", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) })
	mux.HandleFunc("GET /rungs", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") })
	c, url := serve(t, mux)
	require.ErrorContains(t, c.SetStock(t.Context(), url, "p", 100), "401: set LOADTEST_ADMIN_TOKEN to the admin token")
	_, err := c.Stock(t.Context(), url, "p")
	require.ErrorContains(t, err, "503 backend-away: no Redis")
	_, err = c.Ladder(t.Context(), url)
	require.ErrorContains(t, err, "unexpected JSON: it is not JSON from byte 1 on: is that a stockapi?")
	_, err = c.Ladder(t.Context(), strings.Replace(url, "http:", "https:", 1))
	require.ErrorContains(t, err, "/rungs: it does not speak TLS: begin the URL with http://")
	_, err = c.Ladder(t.Context(), "http://127.0.0.1:1")
	require.ErrorContains(t, err, "GET http://127.0.0.1:1/rungs: connection refused: is the service running there?")
}

func TestCommandsAreSummedOverLabels(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `# TYPE stockapi_redis_commands_total counter
stockapi_redis_commands_total{node="a} b"} 40
stockapi_redis_commands_total{node="c"} 1.5e+01 1700000000
stockapi_redis_commands_total_created 99
`)
	})
	c, url := serve(t, mux)
	n, err := c.Commands(t.Context(), url)
	require.NoError(t, err)
	assert.Equal(t, int64(55), n)
}

func TestCommandsWithoutAMetric(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", func(http.ResponseWriter, *http.Request) {})
	c, url := serve(t, mux)
	_, err := c.Commands(t.Context(), url)
	require.Error(t, err)
}

// A service need not answer /livez, nor serve several connections at once: orders are sent anyway.
func TestWarmUpFailureDelaysNoOrder(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for 10 s")
	}
	t.Parallel()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	c, url := serve(t, mux)
	c.Warm(t.Context(), url)()
}
