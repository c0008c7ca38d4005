package main

import (
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

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

// An error is logged if no connection can be accepted, but not for a single client that misbehaves.
func TestAcceptErrorsAreLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		logs := newLogs()
		log := slog.New(slog.NewJSONHandler(logs, nil))
		server := &http.Server{ErrorLog: errorLog(log)}
		require.ErrorIs(t, server.Serve(&failing{Listener: noListener{}, left: 1}), net.ErrClosed)
		require.Len(t, logs.lines, 1)
		assert.Equal(t, "ERROR", logs.lines[0]["level"])
		assert.Contains(t, logs.lines[0]["msg"], "no connection can be accepted")
		assert.Contains(t, logs.lines[0]["err"], "too many open files")

		fmt.Fprintln(serverLog{log}, "http: TLS handshake error from 127.0.0.1:1: EOF")
		assert.Equal(t, 1, logs.len())
	})
}

type noListener struct{ net.Listener }

func (noListener) Addr() net.Addr { return &net.TCPAddr{} }
func (noListener) Close() error   { return nil }
