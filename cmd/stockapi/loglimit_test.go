package main

import (
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/backend"
)

// counted adds up how often each message was logged, the lines that were left out included.
func (l *logs) counted() map[string]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	counts := map[string]int{}
	for _, line := range l.lines {
		left, _ := line["suppressed"].(float64)
		counts[line["msg"].(string)] += 1 + int(left)
	}
	return counts
}

// Of a flood of failures the first is logged, then one a second, each with how many were left out; none gets lost.
func TestAFloodOfFailuresIsSummedUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		logs := newLogs()
		handler := newLogLimiter(slog.NewJSONHandler(logs, nil))
		log := slog.New(handler).With("instance", "a")
		for i := range 10_000 { // for ten seconds
			log.Error("backend-away", "status", 503, "order", i)
			if i%1000 == 0 {
				log.Warn("release failed", "err", io.EOF)
			}
			time.Sleep(time.Millisecond)
		}
		synctest.Wait()
		assert.LessOrEqual(t, len(logs.since(0)), 11+11)
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.LessOrEqual(t, len(logs.since(0)), 12+12)
		assert.Equal(t, map[string]int{"backend-away": 10_000, "release failed": 10}, logs.counted())
		assert.Zero(t, logs.lines[0]["order"], "the first comes at once")
		assert.Equal(t, "a", logs.lines[len(logs.lines)-1]["instance"])

		before := logs.len()
		log.Error("backend-away", "status", 503)
		assert.Equal(t, before+1, logs.len(), "after a quiet while the next one is a first one again")
		log.Error("backend-away", "status", 503)
		log.Error("backend-away", "status", 503)
		handler.Flush()
		assert.Equal(t, before+2, logs.len())
		assert.Equal(t, 10_003, logs.counted()["backend-away"])
		time.Sleep(time.Minute)
		assert.Equal(t, before+2, logs.len(), "and nothing twice")
	})
}

// Orders that lose their leases are a flood without an error or a status, and so is a handler that panics.
func TestLogLimitOfOtherFloods(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		logs := newLogs()
		log := slog.New(newLogLimiter(slog.NewJSONHandler(logs, nil)))
		for i := range 1000 {
			log.Warn("lease lost", "rung", "v5.5", "product", "10000", "order", i)
			log.Error("panic", "path", "/v4/decrease", "reason", "none")
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.Len(t, logs.since(0), 4)
		assert.Equal(t, map[string]int{"lease lost": 1000, "panic": 1000}, logs.counted())
	})
}

// What tells no failure is logged each time, and so is everything that was asked for by --log-level debug.
func TestWhatIsNoFailureIsNotSummedUp(t *testing.T) {
	logs := newLogs()
	log := slog.New(newLogLimiter(slog.NewJSONHandler(logs, &slog.HandlerOptions{Level: slog.LevelDebug})))
	for i := range 10 {
		log.Warn("locks broken", "product", i)
		log.Debug("lock-busy", "status", 423)
	}
	assert.Len(t, logs.since(0), 20)
}

// An outage under load is a handful of lines, and every order is counted in them.
func TestAnOutageDoesNotFloodTheLog(t *testing.T) {
	e, err := backend.StartEmbedded("127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(e.Close)
	r := start(t, "--redis", e.URL())
	e.Server().SetError("OOM command not allowed when used memory > 'maxmemory'.")
	began := time.Now()
	for range 500 {
		require.Equal(t, 503, r.post(t, "/v4/decrease").status)
	}
	seconds := int(time.Since(began)/limitWindow) + 1
	e.Server().SetError("")
	r.end()
	require.NoError(t, r.wait())
	assert.Equal(t, 500, r.logs.counted()["backend-away"])
	lines := 0
	for _, message := range r.logs.since(0) {
		if message == "backend-away" {
			lines++
		}
	}
	assert.LessOrEqual(t, lines, seconds+2)
}

// failing is a listener that is out of file descriptors.
type failing struct {
	net.Listener
	left int
}

func (f *failing) Accept() (net.Conn, error) {
	if f.left--; f.left < 0 {
		return nil, net.ErrClosed
	}
	return nil, &net.OpError{Op: "accept", Net: "tcp", Err: syscall.EMFILE}
}

// That no connection can be accepted is an error in the log, limiterState up. What a single client does is not.
func TestAcceptErrorsAreLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		logs := newLogs()
		server := &http.Server{ErrorLog: errorLog(slog.New(newLogLimiter(slog.NewJSONHandler(logs, nil))))}
		require.ErrorIs(t, server.Serve(&failing{Listener: noListener{}, left: 20}), net.ErrClosed)
		time.Sleep(time.Minute)
		synctest.Wait()
		require.NotEmpty(t, logs.lines)
		assert.Equal(t, "ERROR", logs.lines[0]["level"])
		assert.Contains(t, logs.lines[0]["msg"], "no connection can be accepted")
		assert.Contains(t, logs.lines[0]["err"], "too many open files")
		assert.Equal(t, 20, logs.counted()[logs.lines[0]["msg"].(string)])
		assert.Less(t, len(logs.lines), 20)

		quiet := logs.len()
		fmt.Fprintln(serverLog{slog.New(slog.NewJSONHandler(logs, nil))}, "http: TLS handshake error from 127.0.0.1:1: EOF")
		assert.Equal(t, quiet, logs.len())
	})
}

type noListener struct{ net.Listener }

func (noListener) Addr() net.Addr { return &net.TCPAddr{} }
func (noListener) Close() error   { return nil }
