package shop_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/shop"
)

func serve(t *testing.T, mux *http.ServeMux) (*shop.Client, string) {
	t.Helper()
	server := httptest.NewServer(mux)
	client := shop.NewClient(2, "secret")
	t.Cleanup(func() {
		client.Close()
		server.Close()
	})
	return client, server.URL
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
	mux.HandleFunc("DELETE /locks/p", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /rungs", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"instance":"a","clock":"m",`+
			`"rungs":[{"number":"v6","name":"redlock","needs":["5 nodes"],"available":false}]}`)
	})
	client, url := serve(t, mux)
	require.NoError(t, client.SetStock(t.Context(), url, "p", 100))
	left, err := client.Stock(t.Context(), url, "p")
	require.NoError(t, err)
	assert.Zero(t, left)
	require.NoError(t, client.Forget(t.Context(), url, "p"))
	ladder, err := client.Ladder(t.Context(), url)
	require.NoError(t, err)
	rung, known := ladder.Rung("v6")
	assert.True(t, known)
	assert.False(t, rung.Available)
	_, known = ladder.Rung("v7")
	assert.False(t, known)
}

func TestAdminErrorsSayWhatWasAnswered(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /stock/p", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprint(w, `{"type":"/problems/backend-away","detail":"no Redis"}`)
	})
	mux.HandleFunc("GET /rungs", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") })
	client, url := serve(t, mux)
	_, err := client.Stock(t.Context(), url, "p")
	require.ErrorContains(t, err, "503 backend-away: no Redis")
	_, err = client.Ladder(t.Context(), url)
	require.ErrorContains(t, err, "unexpected JSON")
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
	client, url := serve(t, mux)
	n, err := client.Commands(t.Context(), url)
	require.NoError(t, err)
	assert.Equal(t, int64(55), n)
}

func TestCommandsThatNobodyCountsAreAnError(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", func(http.ResponseWriter, *http.Request) {})
	client, url := serve(t, mux)
	_, err := client.Commands(t.Context(), url)
	require.Error(t, err)
}
