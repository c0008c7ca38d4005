package main

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/backend"
	"stockapi/internal/backend/backendtest"
)

// Over one connection to each Redis every rung sells. A trace lists no commands then, as documented.
func TestPipelining(t *testing.T) {
	url, locks := backendtest.StartEmbedded(t).URL, backendtest.StartEmbedded(t).URL
	for _, flags := range [][]string{{"--redis", url}, {"--redis", url, "--lock-redis", locks}} {
		plain := start(t, flags...).post(t, "/v15/decrease?trace=true")
		assert.NotEmpty(t, plain.body["trace"])
		r := start(t, append(flags, "--redis-pipelining")...)
		assert.Equal(t, http.StatusOK, r.do(t, http.MethodGet, "/readyz", nil).status)
		for _, rung := range []string{"v4", "v5", "v5.7", "v6", "v7", "v8", "v9", "v15", "v16", "v17", "v18", "v19"} {
			a := r.post(t, "/"+rung+"/decrease?trace=true")
			require.Equal(t, http.StatusOK, a.status, "%s: %s", rung, a.text)
			if rung != "v6" && rung != "v16" { // which have connections of their own
				assert.Empty(t, a.body["trace"], rung)
			}
		}
	}
}

func TestWhatIsNotPipelined(t *testing.T) {
	for _, flags := range []string{"--faults", "--narrate", "--setnx-ttl=1h"} {
		err := run(t.Context(), []string{"--redis-pipelining", flags}, strings.NewReader(""), io.Discard, io.Discard)
		assert.ErrorIs(t, err, errUsage, flags)
	}
	err := run(t.Context(), []string{"--redis-pipelining", "--redis", "redis://127.0.0.1:1?cluster=true"},
		strings.NewReader(""), io.Discard, io.Discard)
	assert.ErrorIs(t, err, backend.ErrNotPipelined)
}
