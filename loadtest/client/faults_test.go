package client_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/client"
)

func TestHeldOrders(t *testing.T) {
	var let string
	mux := http.NewServeMux()
	mux.HandleFunc("GET /faults", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"instance":"a","held":[{"order":"o-1","point":"hold@before:del"}]}`)
	})
	mux.HandleFunc("DELETE /faults/{order}", func(w http.ResponseWriter, r *http.Request) {
		let = r.PathValue("order") + " " + r.FormValue("after")
		w.WriteHeader(http.StatusNoContent)
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	c := client.New(1, "")
	defer c.Close()
	held, err := c.HeldOrders(t.Context(), server.URL)
	require.NoError(t, err)
	assert.Equal(t, []string{"o-1"}, held)
	require.NoError(t, c.EndHold(t.Context(), server.URL, "o-1", time.Second))
	assert.Equal(t, "o-1 1s", let)
}

// Orders with a fault carry the token, since a service with a token requires it for faults. Others do not.
func TestOrderWithAFaultCarriesTheToken(t *testing.T) {
	var authorization string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		authorization = r.Header.Get("Authorization")
	}))
	defer server.Close()
	c := client.New(1, "secret")
	defer c.Close()
	for fault, want := range map[string]string{"": "", "hold@before:del": "Bearer secret"} {
		c.Buy(t.Context(), start, time.Now(), server.URL,
			client.Order{ID: "o-1", Rung: "v4", Fault: fault, Timeout: 10 * time.Second})
		assert.Equal(t, want, authorization, fault)
	}
}
