package fleet

import (
	"bufio"
	"io"
	"net"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// echo is a server that answers each line with the same line, and counts them.
type echo struct {
	net.Listener
	heard atomic.Int64
}

func newEcho(t *testing.T) *echo {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	e := &echo{Listener: l}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				lines := bufio.NewReader(conn)
				for {
					line, err := lines.ReadString('\n')
					if err != nil {
						return
					}
					e.heard.Add(1)
					_, _ = io.WriteString(conn, line)
				}
			}()
		}
	}()
	return e
}

// client is one connection over a wire.
type client struct {
	net.Conn
	*bufio.Reader
	t *testing.T
}

func dial(t *testing.T, w *Wire) *client {
	t.Helper()
	conn, err := net.Dial("tcp", w.proxy.Listen)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return &client{conn, bufio.NewReader(conn), t}
}

// says sends a line and returns the answer, or why there is none within a moment.
func (c *client) says(line string) (string, error) {
	_, err := io.WriteString(c.Conn, line+"\n")
	require.NoError(c.t, err)
	return c.hears(100 * time.Millisecond)
}

func (c *client) hears(within time.Duration) (string, error) {
	require.NoError(c.t, c.SetReadDeadline(time.Now().Add(within)))
	return c.ReadString('\n')
}

func newTestWire(t *testing.T) (*Wire, *echo) {
	t.Helper()
	e := newEcho(t)
	w, err := newWire(e.Addr().String())
	require.NoError(t, err)
	t.Cleanup(w.Close)
	return w, e
}

func TestAWireIsCutAndMended(t *testing.T) {
	w, _ := newTestWire(t)
	c := dial(t, w)
	answer, err := c.says("one")
	require.NoError(t, err)
	assert.Equal(t, "one\n", answer)
	require.NoError(t, w.Cut())
	_, err = c.hears(time.Second)
	require.Error(t, err)
	assert.NotErrorIs(t, err, os.ErrDeadlineExceeded, "it was closed")
	_, err = net.Dial("tcp", w.proxy.Listen)
	require.Error(t, err, "it is refused")
	require.NoError(t, w.Mend())
	_, err = dial(t, w).says("two")
	require.NoError(t, err)
	require.NoError(t, w.Mend(), "of a whole wire")
}

func TestCommandsAreLost(t *testing.T) {
	w, e := newTestWire(t)
	c := dial(t, w)
	require.NoError(t, w.LoseCommands())
	_, err := c.says("one")
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	assert.Zero(t, e.heard.Load())
	require.NoError(t, w.Mend())
	_, err = dial(t, w).says("two")
	require.NoError(t, err)
	assert.EqualValues(t, 1, e.heard.Load())
}

func TestRepliesAreLost(t *testing.T) {
	w, e := newTestWire(t)
	c := dial(t, w)
	require.NoError(t, w.LoseReplies())
	_, err := c.says("one")
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	assert.EqualValues(t, 1, e.heard.Load(), "the server did what it was told")
	require.NoError(t, w.Mend())
	_, err = c.hears(time.Second)
	require.ErrorIs(t, err, io.EOF, "what was lost stays lost")
}

func TestRepliesAreHeldBack(t *testing.T) {
	w, e := newTestWire(t)
	c := dial(t, w)
	require.NoError(t, w.HoldReplies())
	_, err := c.says("one")
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	assert.EqualValues(t, 1, e.heard.Load())
	require.NoError(t, w.Mend())
	answer, err := c.hears(time.Second)
	require.NoError(t, err)
	assert.Equal(t, "one\n", answer)
}
