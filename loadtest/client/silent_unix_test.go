//go:build unix

package client

import (
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/history"
)

// A connection on which something came that nobody has asked for is not used again: it was closed, or the next order
// would read another's answer.
func TestAnIdleConnectionThatIsNotSilent(t *testing.T) {
	w := newWire(t, func(string) string { return sold("") })
	c := clientOf(t, 1)
	require.Equal(t, history.Sold, w.buy(t, c).Outcome)
	(<-w.accepted).Close()
	op := w.buy(t, c)
	require.Equal(t, history.Sold, op.Outcome, op.Detail)
	_, err := io.WriteString(<-w.accepted, "HTTP/1.1 409 Conflict\r\nContent-Length: 0\r\n\r\n")
	require.NoError(t, err)
	op = w.buy(t, c)
	assert.Equal(t, history.Sold, op.Outcome, op.Detail)
	assert.Equal(t, 1, w.connections())

	for _, idle := range c.pool.idle {
		idle[0].idleSince = time.Now().Add(-maxIdle)
	}
	require.Equal(t, history.Sold, w.buy(t, c).Outcome)
	assert.Equal(t, 1, w.connections(), "it was idle for too long")
}

// The connections to an instance that has gone are closed, though nobody asks for them any more.
func TestConnectionsToNobody(t *testing.T) {
	gone, there := newWire(t, func(string) string { return sold("") }), newWire(t, func(string) string { return sold("") })
	c := clientOf(t, 1)
	require.Equal(t, history.Sold, gone.buy(t, c).Outcome)
	(<-gone.accepted).Close()
	c.pool.swept = time.Time{}
	require.Equal(t, history.Sold, there.buy(t, c).Outcome)
	assert.NotContains(t, c.pool.idle, address{"http", gone.Addr().String()})
	assert.Contains(t, c.pool.idle, address{"http", there.Addr().String()})
}
