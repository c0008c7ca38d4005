package cluster

import (
	"bufio"
	"io"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// An echo is a server that echoes lines, and counts them.
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

// client is one connection over a link.
type client struct {
	net.Conn
	*bufio.Reader
	t *testing.T
}

func dial(t *testing.T, l *Link) *client {
	t.Helper()
	conn, err := net.Dial("tcp", l.addr)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return &client{conn, bufio.NewReader(conn), t}
}

// says sends a line and returns the echo, or an error if it does not arrive soon.
func (c *client) says(line string) (string, error) {
	_, err := io.WriteString(c.Conn, line+"\n")
	require.NoError(c.t, err)
	return c.hears(100 * time.Millisecond)
}

func (c *client) hears(within time.Duration) (string, error) {
	require.NoError(c.t, c.SetReadDeadline(time.Now().Add(within)))
	return c.ReadString('\n')
}

func newTestLink(t *testing.T) (*Link, *echo) { return newTappedLink(t, nil) }

func newTappedLink(t *testing.T, tap Tap) (*Link, *echo) {
	t.Helper()
	e := newEcho(t)
	l, err := NewLink(e.Addr().String(), tap)
	require.NoError(t, err)
	t.Cleanup(l.Close)
	return l, e
}

func TestLinkIsCutAndHealed(t *testing.T) {
	l, _ := newTestLink(t)
	c := dial(t, l)
	answer, err := c.says("one")
	require.NoError(t, err)
	assert.Equal(t, "one\n", answer)
	require.NoError(t, l.Cut())
	_, err = c.hears(time.Second)
	require.Error(t, err)
	assert.NotErrorIs(t, err, os.ErrDeadlineExceeded, "it was closed")
	_, err = net.Dial("tcp", l.addr)
	require.Error(t, err, "it is refused")
	require.NoError(t, l.Heal())
	_, err = dial(t, l).says("two")
	require.NoError(t, err)
	require.NoError(t, l.Heal(), "a healthy link can be healed too")
}

func TestRequestsAreDropped(t *testing.T) {
	l, e := newTestLink(t)
	c := dial(t, l)
	require.NoError(t, l.DropRequests())
	_, err := c.says("one")
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	assert.Zero(t, e.heard.Load())
	require.NoError(t, l.Heal())
	_, err = dial(t, l).says("two")
	require.NoError(t, err)
	assert.EqualValues(t, 1, e.heard.Load())
}

func TestResponsesAreDropped(t *testing.T) {
	l, e := newTestLink(t)
	c := dial(t, l)
	require.NoError(t, l.DropResponses())
	_, err := c.says("one")
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	assert.EqualValues(t, 1, e.heard.Load(), "the server carried it out")
	require.NoError(t, l.Heal())
	_, err = c.hears(time.Second)
	require.ErrorIs(t, err, io.EOF, "a dropped response stays lost")
}

// Healing the link ends a long delay; a short one ends by itself.
func TestRequestsAreDelayed(t *testing.T) {
	l, e := newTestLink(t)
	c := dial(t, l)
	require.NoError(t, l.DelayRequests(time.Hour))
	_, err := c.says("one")
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	assert.Zero(t, e.heard.Load())
	require.NoError(t, l.Heal())
	require.NoError(t, l.DelayRequests(50*time.Millisecond))
	answer, err := c.hears(time.Second)
	require.NoError(t, err)
	assert.Equal(t, "one\n", answer)

	begun := time.Now()
	_, err = io.WriteString(c.Conn, "two\n")
	require.NoError(t, err)
	answer, err = c.hears(5 * time.Second)
	require.NoError(t, err)
	assert.Equal(t, "two\n", answer)
	assert.GreaterOrEqual(t, time.Since(begun), 50*time.Millisecond)
}

func TestResponsesAreDelayed(t *testing.T) {
	l, e := newTestLink(t)
	c := dial(t, l)
	require.NoError(t, l.DelayResponses())
	_, err := c.says("one")
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	assert.EqualValues(t, 1, e.heard.Load())
	require.NoError(t, l.Heal())
	answer, err := c.hears(time.Second)
	require.NoError(t, err)
	assert.Equal(t, "one\n", answer)
}

// Neither end reads, so every buffer is full. TestMain checks that no goroutine leaks.
func TestFullLinkCloses(t *testing.T) {
	l, _ := newTestLink(t)
	c := dial(t, l)
	line := strings.Repeat("x", 1<<16) + "\n"
	for err := error(nil); err == nil; {
		require.NoError(t, c.SetWriteDeadline(time.Now().Add(100*time.Millisecond)))
		_, err = io.WriteString(c.Conn, line)
	}
	l.Close()
	_, err := net.Dial("tcp", l.addr)
	require.Error(t, err)
}

// A tap is called for all events of each connection, from its opening to its closing.
func TestTapOfALink(t *testing.T) {
	type call struct {
		conn  int
		event Event
	}
	calls := make(chan call, 100)
	l, _ := newTappedLink(t, func(conn int, event Event) <-chan bool {
		calls <- call{conn, event}
		return nil
	})
	for conn := 1; conn <= 2; conn++ {
		c := dial(t, l)
		_, err := c.says("one")
		require.NoError(t, err)
		require.NoError(t, c.Close())
		for _, event := range []Event{ConnOpened, RequestBytes, ReplyBytes, ConnClosed} {
			assert.Equal(t, call{conn, event}, <-calls)
		}
	}
}

func TestTapHoldsBytes(t *testing.T) {
	for _, held := range []Event{RequestBytes, ReplyBytes} {
		decide := make(chan bool)
		l, e := newTappedLink(t, func(_ int, event Event) <-chan bool {
			if event == held {
				return decide
			}
			return nil
		})
		silent := func(c *client, says string) {
			_, err := c.says(says)
			require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		}
		c := dial(t, l)
		silent(c, "one")
		assert.EqualValues(t, map[Event]int{RequestBytes: 0, ReplyBytes: 1}[held], e.heard.Load())
		decide <- true
		answer, err := c.hears(time.Second)
		require.NoError(t, err)
		assert.Equal(t, "one\n", answer)

		silent(c, "two")
		decide <- false
		_, err = c.hears(time.Second)
		require.ErrorIs(t, err, io.EOF, "the connection ended")

		c = dial(t, l)
		silent(c, "three")
		require.NoError(t, l.Cut())
		_, err = c.hears(time.Second)
		require.Error(t, err)
		assert.NotErrorIs(t, err, os.ErrDeadlineExceeded, "a link can be cut while it holds bytes")
	}
}

// A held request arrives even though its client has left.
func TestHeldRequestOutlivesItsClient(t *testing.T) {
	decide := make(chan bool)
	l, e := newTappedLink(t, func(_ int, event Event) <-chan bool {
		if event == RequestBytes {
			return decide
		}
		return nil
	})
	c := dial(t, l)
	_, err := c.says("one")
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	require.NoError(t, c.Close())
	decide <- true
	require.Eventually(t, func() bool { return e.heard.Load() == 1 }, 10*time.Second, time.Millisecond)
}
