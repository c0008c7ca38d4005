package shop

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"stockapi/loadtest/cluster"
	"stockapi/loadtest/history"
	"stockapi/loadtest/rig"
)

// A pair is shut once the answers of its orders are recorded: else the race detector objects.
func TestPairWaitsForOrders(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	p := &Pair{Shop: &Shop{}, Context: t.Context(), Client: server.Client(),
		Rig: &rig.Rig{Ends: []*rig.End{{In: &cluster.Instance{URL: server.URL}}}}}
	o := p.Buy("anna", AtA, history.Buy, Request{Method: "POST", Path: "/buy"}, 0, time.Minute)
	p.Tasks.Wait()
	assert.Equal(t, history.Sold, o.Op.Outcome)
}
