package main

import (
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/backend/backendtest"
)

// Over ten restarts on one port, with 64 clients that keep their connections, every request that was sent is answered: by
// a sale, or by a refusal that says so. That nobody listens for a moment is another matter: then nothing is sent.
func TestRestartsLeaveNoRequestUnanswered(t *testing.T) {
	s := backendtest.StartEmbedded(t)
	const clients, restarts = 64, 10
	addr := freeAddr(t)
	args := []string{"--redis", s.URL, "--stock", "1000000", "--addr", addr, "--drain-delay", "200ms"}
	var sent, refused, lost atomic.Int64
	var crowd sync.WaitGroup
	enough := make(chan struct{})
	r := start(t, args...)
	for range clients {
		crowd.Go(func() {
			client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1}}
			defer client.CloseIdleConnections()
			for {
				select {
				case <-enough:
					return
				default:
				}
				response, err := client.Post("http://"+addr+"/v17/decrease", "", http.NoBody)
				switch {
				case err == nil:
					_, err = io.Copy(io.Discard, response.Body)
					_ = response.Body.Close()
				case errors.Is(err, syscall.ECONNREFUSED):
					refused.Add(1)
					time.Sleep(time.Millisecond)
					continue
				}
				sent.Add(1)
				if err != nil {
					lost.Add(1)
					t.Log(time.Now().Format("05.000000"), err)
				}
			}
		})
	}
	for i := range restarts {
		require.Eventually(t, func() bool { return sent.Load() >= int64(i+1)*1000 }, time.Minute, time.Millisecond)
		r.end()
		require.NoError(t, r.wait())
		r = start(t, args...)
	}
	close(enough)
	crowd.Wait()
	t.Logf("%d requests over %d restarts, %d without an answer; %d times nobody listened", sent.Load(), restarts,
		lost.Load(), refused.Load())
	assert.Zero(t, lost.Load())
}

// freeAddr returns an address that nobody listens on.
func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().String()
}
