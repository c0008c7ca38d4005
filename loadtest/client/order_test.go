package client_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"stockapi/loadtest/client"
	"stockapi/loadtest/history"
)

// The op of an order of several products is about the cell's own product, wherever the answer lists it; an answer that
// does not list it proves nothing.
func TestOrderOfSeveralProducts(t *testing.T) {
	const p, q = `{"product":"p","quantity":1,"left":6,"units":[7]}`, `{"product":"q","quantity":1,"left":1,"units":[2]}`
	for items, want := range map[string]history.Outcome{p + "," + q: history.Sold, q + "," + p: history.Sold,
		q: history.Unknown} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			assert.Equal(t, "q,p", r.URL.Query().Get("items"))
			assert.False(t, r.URL.Query().Has("product") || r.URL.Query().Has("quantity"), "items takes their place")
			_, _ = fmt.Fprintf(w, `{"quantity":1,"left":1,"units":[2],"order":"p-1","items":[%s]}`, items)
		}))
		c := client.New(1, "")
		op := c.Buy(t.Context(), start, time.Now(), server.URL,
			client.Order{ID: "p-1", Rung: "v9", Product: "p", Quantity: 1, Items: []string{"q", "p"}, Timeout: time.Second})
		assert.Equal(t, want, op.Outcome, op.Detail)
		if want == history.Sold {
			assert.Equal(t, []int64{7}, op.Units)
			assert.EqualValues(t, 6, op.Left)
		}
		c.Close()
		server.Close()
	}
}
