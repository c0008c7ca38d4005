package backend

import (
	"bufio"
	"io"
	"net"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A frame that would crash miniredis is refused. It costs its sender the connection, and has no effect on others.
func TestEmbeddedRefusesMalformedFrames(t *testing.T) {
	if testing.Short() {
		t.Skip("takes longer than a second")
	}
	e, err := StartEmbedded("127.0.0.1:0")
	require.NoError(t, err)
	defer e.Close()
	const ping = "*1\r\n$4\r\nPING\r\n"
	for frame, reply := range map[string]string{
		"*0\r\n":                               "empty command",
		"*-1\r\n":                              "expected an array",
		"*2147483647\r\n":                      "a command of more than",
		"*1000000000000\r\n":                   "expected an array",
		"*1\r\n$999999999999\r\n":              "expected an array",
		"*1\r\n$2000000000\r\n":                "a command of more than",
		"*1\r\n$-1\r\n":                        "expected an array",
		"*1\r\n+PING\r\n":                      "expected an array",
		"*1\n":                                 "expected an array",
		"\n":                                   "expected an array",
		"PING\r\n":                             "expected an array",
		"$4\r\nPING\r\n":                       "expected an array",
		"*1" + strings.Repeat("0", 100) + "\n": "expected an array",
		"*3\r\n$3\r\nSET\r\n$80000000\r\n" + strings.Repeat("k", 80_000_000) + "\r\n$80000000\r\n": "a command of more than",
	} {
		conn, err := net.Dial("tcp", e.Addr())
		require.NoError(t, err)
		require.NoError(t, conn.SetDeadline(time.Now().Add(time.Minute)))
		_, err = io.WriteString(conn, ping+frame)
		require.NoError(t, err)
		replies := bufio.NewReader(conn)
		first, _ := replies.ReadString('\n')
		second, _ := replies.ReadString('\n')
		if strings.HasPrefix(first, "-") { // two goroutines reply, and the connection is closed anyway
			first, second = second, first
		}
		name := strings.TrimSpace(frame[:min(len(frame), 40)])
		assert.Contains(t, second, "-ERR Protocol error: "+reply, name)
		assert.Contains(t, []string{"+PONG\r\n", ""}, first, name)
		_, err = replies.ReadByte()
		assert.Error(t, err, name)
		require.NoError(t, conn.Close())
	}
	client, err := Open(e.URL(), options)
	require.NoError(t, err)
	defer client.Close()
	require.NoError(t, client.Ping(t.Context()).Err(), "it is still there")
}

// Well-formed input passes unchanged, in pieces of any size.
func TestFramesPassVerbatim(t *testing.T) {
	text := "*2\r\n$4\r\nECHO\r\n$12\r\n*0\r\n$-1\r\n\r\n\n\r\n*1\r\n$0\r\n\r\n*1\r\n$4\r\nPING\r\n"
	for name, cut := range map[string]func(io.Reader) io.Reader{
		"whole": func(r io.Reader) io.Reader { return r }, "halves": iotest.HalfReader, "bytes": iotest.OneByteReader,
	} {
		passed, err := io.ReadAll(&framedConn{Conn: cutConn{from: cut(strings.NewReader(text + text))}})
		require.NoError(t, err, name)
		assert.Equal(t, text+text, string(passed), name)
	}
}

type cutConn struct {
	net.Conn
	from io.Reader
}

func (c cutConn) Read(b []byte) (int, error) { return c.from.Read(b) }

// A script that does not end holds miniredis as the test does here.
func TestEmbeddedClosesWhileAScriptRuns(t *testing.T) {
	if testing.Short() {
		t.Skip("takes longer than a second")
	}
	e, err := StartEmbedded("127.0.0.1:0")
	require.NoError(t, err)
	e.Server().Lock()
	defer e.Server().Unlock()
	closed := make(chan struct{})
	go func() {
		e.Close()
		close(closed)
	}()
	select {
	case <-closed:
	case <-time.After(30 * time.Second):
		t.Fatal("it does not close")
	}
}
