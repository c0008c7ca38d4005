package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/backend/backendtest"
)

// Over five restarts on one port, with 64 clients that keep their connections, every request that was sent is answered:
// by a sale, or by a refusal that says so. That nobody listens for a moment is another matter: then nothing is sent.
// Nothing can be asked of a connection on which no answer was due during the whole drain delay, as on a machine that is
// too busy for its clients: the answers are where the instance says that it closes the connection.
func TestRestartsLeaveNoRequestUnanswered(t *testing.T) {
	backendtest.Long(t)
	t.Parallel()
	s := backendtest.StartEmbedded(t)
	const clients, restarts, drainDelay = 64, 5, 200 * time.Millisecond
	addr := fmt.Sprintf("127.0.0.1:%d", backendtest.FreePort(t))
	args := []string{"--redis", s.URL, "--stock", "1000000", "--addr", addr, "--drain-delay", drainDelay.String()}
	var sent, refused, lost, untold atomic.Int64
	var crowd sync.WaitGroup
	enough := make(chan struct{})
	r := start(t, args...)
	for range clients {
		crowd.Go(func() {
			client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1}}
			defer client.CloseIdleConnections()
			for before := time.Now(); ; {
				select {
				case <-enough:
					return
				default:
				}
				begun := time.Now()
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
				switch {
				case err == nil:
				case time.Since(before) > drainDelay:
					untold.Add(1)
				default:
					lost.Add(1)
					t.Log(time.Now().Format("05.000000"), err)
				}
				before = begun
			}
		})
	}
	for i := range restarts {
		require.Eventually(t, func() bool { return sent.Load() >= int64(i+1)*500 }, time.Minute, time.Millisecond)
		r.end()
		require.NoError(t, r.wait())
		r = start(t, args...)
	}
	close(enough)
	crowd.Wait()
	t.Logf("%d requests over %d restarts, %d without an answer; %d on connections that were told too late; "+
		"%d times nobody listened", sent.Load(), restarts, lost.Load(), untold.Load(), refused.Load())
	assert.Zero(t, lost.Load())
}

// pair returns the two ends of a connection.
func pair(t *testing.T) (client, server *net.TCPConn) {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	client = dial(t, l.Addr().String())
	accepted, err := l.Accept()
	require.NoError(t, err)
	t.Cleanup(func() { _ = accepted.Close() })
	return client, accepted.(*net.TCPConn)
}

func dial(t *testing.T, addr string) *net.TCPConn {
	t.Helper()
	c, err := new(net.Dialer).DialContext(t.Context(), "tcp", addr)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c.(*net.TCPConn)
}

// A request that comes while its connection is about to be closed as unused is read, and all of it.
func TestARequestAtTheMomentItsConnectionEnds(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("its connections cannot be looked at without waiting")
	}
	client, server := pair(t)
	c := &conn{TCPConn: server, unused: true}
	_, err := io.WriteString(client, "GET ")
	require.NoError(t, err)
	c.endUnused(0)
	b := make([]byte, 16)
	n, err := c.Read(b)
	require.NoError(t, err)
	assert.Equal(t, "GET ", string(b[:n]))

	c.endUnused(0) // it is used now
	_, err = io.WriteString(client, "/livez")
	require.NoError(t, err)
	n, err = c.Read(b)
	require.NoError(t, err)
	assert.Equal(t, "/livez", string(b[:n]))

	c.markIdle()
	c.endUnused(time.Hour) // not for that long
	require.False(t, c.woken)
	c.endUnused(0)
	_, err = c.Read(b)
	assert.Equal(t, io.EOF, err, "net/http closes it, and logs nothing")
}

// Its time limit is net/http's to set. What was set to end it has to be set again.
func TestANewTimeLimitIsNotTheEnd(t *testing.T) {
	_, server := pair(t)
	c := &conn{TCPConn: server, unused: true}
	c.endUnused(0)
	require.NoError(t, c.SetReadDeadline(time.Now().Add(time.Millisecond)))
	_, err := c.Read(make([]byte, 1))
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	c.endUnused(0)
	_, err = c.Read(make([]byte, 1))
	assert.Equal(t, io.EOF, err)
}

// Who has connected by the time the port closes is let in, also if nobody looked until it had.
func TestWhoHasConnectedIsLetIn(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("its queue cannot be looked at without waiting")
	}
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := newPort(l.(*net.TCPListener))
	const clients = 20
	for range clients {
		dial(t, l.Addr().String())
	}
	stopped := make(chan struct{})
	go func() {
		p.stop(0)
		close(stopped)
	}()
	<-p.closing
	_ = p.SetDeadline(time.Unix(1, 0)) // it may come a moment later in stop, which makes no difference
	for range clients {
		c, err := p.Accept()
		require.NoError(t, err)
		_ = c.Close()
	}
	_, err = p.Accept()
	require.ErrorIs(t, err, net.ErrClosed)
	<-stopped
	require.NoError(t, p.Close(), "as http.Server does too")
	_, err = new(net.Dialer).DialContext(t.Context(), "tcp", l.Addr().String())
	assert.ErrorIs(t, err, syscall.ECONNREFUSED, "and nobody after them")
}

// A request that comes while the port closes waits for that, and is then served.
func TestARequestWhileThePortCloses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPort(nil)
		served := false
		h := p.delay(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { served = true }))
		h.ServeHTTP(nil, nil)
		require.True(t, served)
		served = false
		close(p.closing)
		go h.ServeHTTP(nil, nil)
		synctest.Wait()
		require.False(t, served)
		close(p.closed)
		synctest.Wait()
		assert.True(t, served)
	})
}

// Connections that nobody ever used, or uses any more, do not hold the end up: http.Server waits 5 s for the former.
func TestUnusedConnectionsDoNotHoldTheEndUp(t *testing.T) {
	r := start(t, "--redis", backendtest.StartEmbedded(t).URL, "--drain-delay", "100ms", "--drain-timeout", "4s")
	for range 3 {
		dial(t, strings.TrimPrefix(r.url, "http://"))
	}
	used := dial(t, strings.TrimPrefix(r.url, "http://"))
	_, err := io.WriteString(used, "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
	require.NoError(t, err)
	response, err := http.ReadResponse(bufio.NewReader(used), nil)
	require.NoError(t, err)
	assert.False(t, response.Close)
	r.end()
	require.NoError(t, r.wait())
	_, err = io.Copy(io.Discard, used)
	assert.NoError(t, err, "an end and not a reset")
}

// Clients that do not end their body, and those that do not read their answer, are cut off in time: the instance ends
// without an error, long before --drain-timeout. Until then each of the former is answered.
func TestClientsThatNeverEndDoNotHoldTheEndUp(t *testing.T) {
	backendtest.Long(t)
	t.Parallel()
	r := start(t, "--redis", backendtest.StartEmbedded(t).URL, "--drain-timeout", "25s")
	addr := strings.TrimPrefix(r.url, "http://")
	var endless []*net.TCPConn
	for i := range 100 {
		c := dial(t, addr)
		request := "POST /v4/decrease HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{"
		if i%2 == 1 {
			request = "DELETE /locks/10000 HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n"
		}
		_, err := io.WriteString(c, request)
		require.NoError(t, err)
		endless = append(endless, c)
	}
	deaf := dial(t, addr)
	var asked sync.WaitGroup
	asked.Go(func() { // until nobody reads its questions, as nobody can answer them
		for {
			_ = deaf.SetWriteDeadline(time.Now().Add(2 * time.Second))
			if _, err := io.WriteString(deaf, strings.Repeat("GET /docs HTTP/1.1\r\nHost: localhost\r\n\r\n", 100)); err != nil {
				return
			}
		}
	})
	asked.Wait()
	r.end()
	require.NoError(t, r.wait())
	for _, c := range endless {
		response, err := http.ReadResponse(bufio.NewReader(c), nil)
		require.NoError(t, err)
		assert.Equal(t, http.StatusBadRequest, response.StatusCode)
		assert.True(t, response.Close)
	}
}

// Clients that ask for much and read none of it hold the end up for as long as an answer may take to be read, or until
// --drain-timeout if that is shorter. Unpacking Swagger UI for each of them would take longer than either.
func TestReadersThatNeverReadDoNotHoldTheEndUp(t *testing.T) {
	backendtest.Long(t)
	t.Parallel()
	r := start(t, "--redis", backendtest.StartEmbedded(t).URL, "--drain-timeout", "2s")
	const readers = 1000
	for range readers {
		c := dial(t, strings.TrimPrefix(r.url, "http://"))
		require.NoError(t, c.SetReadBuffer(4<<10))
		_, err := io.WriteString(c, strings.Repeat("GET /docs/swagger-ui-bundle.js HTTP/1.1\r\nHost: localhost\r\n\r\n", 2))
		require.NoError(t, err)
	}
	begun := time.Now()
	r.end()
	require.ErrorContains(t, r.wait(), "still in flight")
	assert.Less(t, time.Since(begun), 7*time.Second)
}
