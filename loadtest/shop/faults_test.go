package shop_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/shop"
)

func TestOrdersThatAreHeld(t *testing.T) {
	var let string
	mux := http.NewServeMux()
	mux.HandleFunc("GET /faults", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"instance":"a","held":[{"order":"o-1","point":"hold@before:del"}]}`)
	})
	mux.HandleFunc("DELETE /faults/{order}", func(w http.ResponseWriter, r *http.Request) {
		let = r.PathValue("order")
		w.WriteHeader(http.StatusNoContent)
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	client := shop.NewClient(1, "")
	defer client.Close()
	held, err := client.Held(t.Context(), server.URL)
	require.NoError(t, err)
	assert.Equal(t, []string{"o-1"}, held)
	require.NoError(t, client.LetGo(t.Context(), server.URL, "o-1"))
	assert.Equal(t, "o-1", let)
}
