package main

import (
	"context"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/backend/backendtest"
)

// v12 works without a flag, with a file that is created when it first sells and that other instances share.
func TestTheDefaultDatabaseIsAFile(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	s := backendtest.StartEmbedded(t)
	a, b := start(t, "--redis", s.URL, "--sql", ""), start(t, "--redis", s.URL, "--sql", "")
	require.Equal(t, 200, a.post(t, "/v4/decrease").status)
	files, err := os.ReadDir(tmp)
	require.NoError(t, err)
	require.Empty(t, files, "v12 has not sold yet")

	sold := a.post(t, "/v12/decrease?trace=true")
	require.Equal(t, 200, sold.status, sold.text)
	for _, statement := range []string{"sql:acquire", "sql:release", "locks.db", `"reply":"1"`} {
		assert.Contains(t, sold.text, statement)
	}

	working := make(chan answer)
	go func() { working <- a.post(t, "/v12/decrease?work=500ms") }()
	require.Eventually(t, func() bool { return b.post(t, "/v12/decrease?wait=0s").problem() == "lock-busy" },
		10*time.Second, 5*time.Millisecond)
	assert.Equal(t, 200, (<-working).status)
	assert.Equal(t, 200, b.post(t, "/v12/decrease").status)
	assert.Equal(t, 200, b.do(t, "DELETE", "/locks/10000", nil).status)
}

// A database that does not answer is reported at the start, and then by v12 alone.
func TestADatabaseThatDoesNotAnswer(t *testing.T) {
	s := backendtest.StartEmbedded(t)
	for _, dsn := range []string{"mysql://127.0.0.1:1/shop", "postgres://127.0.0.1:1/shop",
		"sqlite:///dev/null/locks.db"} {
		r := start(t, "--redis", s.URL, "--sql", dsn)
		assert.Contains(t, strings.Join(r.logs.since(0), "\n"), "no database for v12")
		a := r.post(t, "/v12/decrease")
		assert.Equal(t, 503, a.status, dsn)
		assert.Equal(t, "backend-away", a.problem())
		assert.Equal(t, 200, r.post(t, "/v4/decrease").status, "other rungs are not affected")
		assert.Equal(t, 200, r.do(t, "GET", "/readyz", nil).status)
	}
}

func TestADSNThatMakesNoSense(t *testing.T) {
	s := backendtest.StartEmbedded(t)
	for _, dsn := range []string{"oracle://127.0.0.1/shop", "mysql://127.0.0.1:bad/shop",
		"mysql://127.0.0.1/shop?timeout=soon", "postgres://127.0.0.1/shop?sslmode=rain",
		"sqlite://", "locks.db",
		// Each process would have a lock of its own, or none
		"sqlite:///tmp/l.db?mode=memory", "sqlite:///tmp/l.db?mode=ro", "sqlite:///tmp/l.db?vfs=unix-none",
		"sqlite:///tmp/l.db?nolock=1", "sqlite:///tmp/l.db?immutable=1",
		"sqlite:///tmp/l.db?_pragma=locking_mode(exclusive)", "sqlite:///tmp/l.db?_pragma=query_only(1)"} {
		err := run(context.Background(), []string{"--addr", "127.0.0.1:0", "--redis", s.URL, "--sql", dsn},
			strings.NewReader(""), io.Discard, io.Discard)
		require.ErrorContains(t, err, "--sql", dsn)
	}
}
