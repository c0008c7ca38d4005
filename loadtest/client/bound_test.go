package client_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"stockapi/loadtest/client"
	"stockapi/loadtest/history"
)

// Oversized answers cost the load generator little, and none counts as a sale.
func TestHostileServiceIsBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("takes longer than a second")
	}
	t.Parallel()
	for name, body := range map[string]string{
		"units":    `{"order":"p-1","quantity":1,"units":[1` + strings.Repeat(",1", 1_500_000) + `]}`,
		"commands": `{"order":"p-1","quantity":1,"units":[1],"trace":[{}` + strings.Repeat(",{}", 300_000) + `]}`,
		"texts":    `{"order":"` + strings.Repeat("x", 3_000_000) + `","quantity":1,"units":[1]}`,
		"bytes":    `{"order":"p-1","quantity":1,"units":[1],"x":"` + strings.Repeat("x", 5_000_000) + `"}`,
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = fmt.Fprint(w, body)
		}))
		c := client.New(3, "")
		ops := make([]history.Op, 3)
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		var all sync.WaitGroup
		for i := range ops {
			all.Go(func() {
				ops[i] = c.Buy(t.Context(), start, time.Now(), server.URL,
					client.Order{ID: "p-1", Rung: "v4", Product: "p", Quantity: 1, Timeout: time.Minute})
			})
		}
		all.Wait()
		c.Close()
		server.Close()
		runtime.GC()
		runtime.ReadMemStats(&after)
		assert.Less(t, int64(after.HeapAlloc)-int64(before.HeapAlloc), int64(4<<20), name)
		for _, op := range ops {
			if name == "commands" {
				assert.True(t, op.Trace[len(op.Trace)-1].Cut(), name)
			} else {
				assert.Equal(t, history.Unknown, op.Outcome, name)
			}
			assert.Less(t, len(op.Detail), 2000, name)
		}
	}
}
