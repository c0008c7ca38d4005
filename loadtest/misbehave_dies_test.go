package main

import (
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/contract/contracttest"
	"stockapi/loadtest/history"
)

// An instance that dies in the middle of the load is not a client that did not send. What it may have sold is unknown,
// and nobody is accused.
func TestAShopThatDiesMidway(t *testing.T) {
	store := contracttest.NewStore()
	a, b := contracttest.NewInstance(store, "a"), contracttest.NewInstance(store, "b")
	server, died := httptest.NewServer(b.Handler()), make(chan struct{})
	die := sync.OnceFunc(func() {
		defer close(died)
		server.CloseClientConnections()
		server.Close()
	})
	b.Tell = func(o *order) {
		if o.Number >= buyers/2 {
			o.Status = 0
			go die()
		}
	}
	dir := t.TempDir()
	args := append([]string{"--targets", serve(t, a) + "," + server.URL, "--scenarios", "two-instances", "--rungs", "v4",
		"--out", dir}, load...)
	code, stdout, stderr := loadtest(t, append(args, "--stock", "100")...)
	<-died
	out := stdout + stderr
	assert.Equal(t, couldNotRun, code, out)
	recorded, err := history.Read(dir)
	require.NoError(t, err)
	c := recorded.Cells[0]
	assert.Equal(t, history.OK, c.Finding(history.Valid).Result, out)
	for _, v := range history.Verdicts {
		assert.NotEqual(t, history.Broken, c.Finding(v).Result, out)
	}
	assert.Zero(t, c.Tally().NotSent, out)
	assert.Positive(t, c.Tally().Unknown, out)
	assert.Positive(t, c.Tally().NotSold, "a connection that is refused sells nothing: %s", out)
}
