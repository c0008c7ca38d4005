package handlers

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

// BenchmarkDecrease is one sale at a time over HTTP, from the client's socket to the embedded Redis and back. Compare
// it with the same of internal/sale, which is without HTTP.
//
//	go test -run '^$' -bench Decrease ./internal/handlers
func BenchmarkDecrease(b *testing.B) {
	for _, rung := range []string{"v17", "v4", "v18"} {
		b.Run(rung, func(b *testing.B) {
			h, inside := embeddedShop(b)
			b.Cleanup(inside.Close)
			require.Equal(b, http.StatusOK, serveTo(h, request("PUT /stock/10000?quantity=1000000000", "")).Code)
			server := httptest.NewServer(h)
			defer server.Close()
			b.ReportAllocs()
			for b.Loop() {
				r, err := http.NewRequestWithContext(b.Context(), http.MethodPost, server.URL+"/"+rung+"/decrease", nil)
				require.NoError(b, err)
				answer, err := server.Client().Do(r)
				require.NoError(b, err)
				_, err = io.Copy(io.Discard, answer.Body) // so that its connection is used again
				require.NoError(b, err)
				require.NoError(b, answer.Body.Close())
				require.Equal(b, http.StatusOK, answer.StatusCode)
			}
		})
	}
}
