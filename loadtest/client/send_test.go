package client

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/history"
)

// A wire is a shop that answers each request with given bytes, and counts its connections.
type wire struct {
	net.Listener
	accepted chan net.Conn
}

// newWire closes a connection when answer returns nothing.
func newWire(t testing.TB, answer func(request string) string) *wire {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	w := &wire{Listener: l, accepted: make(chan net.Conn, 100)}
	var serving sync.WaitGroup
	serving.Go(func() {
		defer close(w.accepted)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			w.accepted <- conn
			serving.Go(func() { serveWire(conn, answer) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		serving.Wait()
	})
	return w
}

func serveWire(conn net.Conn, answer func(request string) string) {
	defer conn.Close()
	in := bufio.NewReader(conn)
	for {
		var request bytes.Buffer
		for !bytes.HasSuffix(request.Bytes(), []byte("\r\n\r\n")) {
			line, err := in.ReadSlice('\n')
			request.Write(line)
			if err != nil {
				return
			}
		}
		text := answer(request.String())
		if _, err := io.WriteString(conn, text); err != nil || text == "" {
			return
		}
	}
}

const receipt = `{"rung":"v17","product":"p","quantity":1,"left":6,"units":[7],"instance":"b","order":"p-1",` +
	`"waited_ms":1.5,"trace":[{"node":"127.0.0.1:6379","cmd":"evalsha","key":"stock:p",` +
	`"at":"2026-01-01T00:00:00.512345678Z","end":"2026-01-01T00:00:00.613345678Z","reply":"100"}]}`

// sold returns the bytes of a sale's answer, with these extra header lines.
func sold(header string) string {
	return fmt.Sprintf("HTTP/1.1 200 OK\r\n%sContent-Length: %d\r\n\r\n%s", header, len(receipt), receipt)
}

var one = Order{ID: "p-1", Rung: "v17", Product: "p", Quantity: 1, Wait: time.Second, TTL: time.Second,
	Timeout: 10 * time.Second}

func (w *wire) buy(t testing.TB, c *Client) history.Op {
	return c.Buy(t.Context(), time.Now(), time.Now(), "http://"+w.Addr().String(), one)
}

// connections returns how many connections w has accepted since the last call.
func (w *wire) connections() (n int) {
	for ; len(w.accepted) > 0; n++ {
		<-w.accepted
	}
	return n
}

func clientOf(t testing.TB, concurrency int) *Client {
	c := New(concurrency, "")
	t.Cleanup(c.Close)
	return c
}

// The response's headers decide whether the next order reuses the connection.
func TestConnectionReuse(t *testing.T) {
	chunked := fmt.Sprintf("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(receipt),
		receipt)
	for name, c := range map[string]struct {
		answer      string
		connections int
	}{
		"whole":             {sold(""), 1},
		"in chunks":         {chunked, 1},
		"announced":         {"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + sold(""), 1},
		"closed afterwards": {sold("Connection: close\r\n"), 3},
		"HTTP/1.0":          {strings.Replace(sold(""), "1.1", "1.0", 1), 3},
	} {
		w := newWire(t, func(string) string { return c.answer })
		client := clientOf(t, 1)
		for range 3 {
			op := w.buy(t, client)
			assert.Equal(t, history.Sold, op.Outcome, "%s: %s", name, op.Detail)
		}
		assert.Equal(t, c.connections, w.connections(), name)
		client.Close()
	}
}

func TestOrderUsesTheWarmConnection(t *testing.T) {
	w := newWire(t, func(string) string { return sold("") })
	c := clientOf(t, 1)
	c.Warm(t.Context(), "http://"+w.Addr().String())()
	require.Equal(t, history.Sold, w.buy(t, c).Outcome)
	assert.Equal(t, 1, w.connections())
}

// No order is sent twice, and none waits for an answer without end.
func TestIncompleteAnswerIsNotRetried(t *testing.T) {
	for name, answer := range map[string]string{
		"none":                   "",
		"no HTTP":                "hello\r\n\r\n",
		"announced for ever":     strings.Repeat("HTTP/1.1 100 Continue\r\n\r\n", 50_000),
		"a header without end":   "HTTP/1.1 200 OK\r\n" + strings.Repeat("a: b\r\n", (1<<20)/6+1),
		"announced without end":  strings.Repeat("HTTP/1.1 100 "+strings.Repeat("x", (1<<20)/4)+"\r\n\r\n", 5),
		"a receipt, but no sale": "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}",
	} {
		for _, reads := range []bool{false, true} { // net/http repeats a GET, if it can
			requests := 0
			w := newWire(t, func(string) string {
				if requests++; requests == 1 {
					return sold("")
				}
				return answer
			})
			c := clientOf(t, 1)
			require.Equal(t, history.Sold, w.buy(t, c).Outcome)
			o := one
			o.Reads = reads
			op := c.Buy(t.Context(), time.Now(), time.Now(), "http://"+w.Addr().String(), o)
			assert.Equal(t, history.Unknown, op.Outcome, "%s: %s", name, op.Detail)
			assert.NotContains(t, op.Detail, errTimeout.Error(), name)
			assert.Equal(t, 2, requests, name)
			c.Close()
		}
	}
}

// The host, the headers and the query of an order's request.
func TestOrderRequest(t *testing.T) {
	var got *http.Request
	w := newWire(t, func(text string) string {
		var err error
		got, err = http.ReadRequest(bufio.NewReader(strings.NewReader(text)))
		assert.NoError(t, err)
		return sold("")
	})
	o := one
	o.Items, o.Fault = []string{"p", "q&r"}, "kill@write"
	clientOf(t, 1).Buy(t.Context(), time.Now(), time.Now(), "http://"+w.Addr().String(), o)
	require.NotNil(t, got)
	assert.Equal(t, w.Addr().String(), got.Host)
	assert.Zero(t, got.ContentLength)
	assert.Equal(t, "p-1", got.Header.Get("X-Request-ID"))
	assert.Equal(t, "p,q&r", got.URL.Query().Get("items"))
	assert.Equal(t, "kill@write", got.URL.Query().Get("fault"))
	assert.Equal(t, "1s", got.URL.Query().Get("ttl"))
}

// Connections die while they are idle, and while an order is written to them. The service sees no order twice, and none
// that the client counts as unsent.
func TestOrdersOnDyingConnections(t *testing.T) {
	var mu sync.Mutex
	seen := map[string]int{}
	w := newWire(t, func(request string) string {
		mu.Lock()
		defer mu.Unlock()
		_, id, _ := strings.Cut(request, "X-Request-Id: ")
		id, _, _ = strings.Cut(id, "\r\n")
		if seen[id]++; len(seen)%7 == 0 {
			return ""
		}
		body := strings.ReplaceAll(receipt, `"p-1"`, `"`+id+`"`)
		return fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	})
	c := clientOf(t, 4)
	dying := make(chan struct{})
	go func() {
		defer close(dying)
		for conn := range w.accepted {
			time.Sleep(300 * time.Microsecond)
			_ = conn.Close()
		}
	}()
	outcomes := map[history.Outcome]int{}
	var orders sync.WaitGroup
	for worker := range 4 {
		orders.Go(func() {
			for i := range 200 {
				o := one
				o.ID, o.Reads = fmt.Sprintf("w-%d-%d", worker, i), i%5 == 0
				op := c.Buy(t.Context(), time.Now(), time.Now(), "http://"+w.Addr().String(), o)
				mu.Lock()
				outcomes[op.Outcome]++
				assert.LessOrEqual(t, seen[o.ID], 1, op.Detail)
				if op.Outcome == history.NotSent || op.Outcome == history.NotSold {
					assert.Zero(t, seen[o.ID], op.Detail)
				}
				mu.Unlock()
			}
		})
	}
	orders.Wait()
	w.Close()
	<-dying
	assert.Positive(t, outcomes[history.Sold])
	assert.Positive(t, outcomes[history.Unknown])
	assert.Equal(t, 800, outcomes[history.Sold]+outcomes[history.Unknown]+outcomes[history.NotSent]+
		outcomes[history.NotSold])
}

func TestRunEndsDuringAnOrder(t *testing.T) {
	asked, gone := make(chan struct{}), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(asked)
		<-r.Context().Done()
		close(gone)
	}))
	defer server.Close()
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		<-asked
		cancel(fmt.Errorf("enough"))
	}()
	op := clientOf(t, 1).Buy(ctx, time.Now(), time.Now(), server.URL, one)
	assert.Equal(t, history.Unknown, op.Outcome)
	assert.Equal(t, "enough", op.Detail)
	assert.False(t, op.Done.Known())
	<-gone

	w, c := newWire(t, func(string) string { return sold("") }), clientOf(t, 1)
	require.Equal(t, history.Sold, w.buy(t, c).Outcome)
	op = c.Buy(ctx, time.Now(), time.Now(), "http://"+w.Addr().String(), one)
	assert.Equal(t, history.NotSent, op.Outcome, "it had ended before")
}

func TestOrdersOverTLS(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, receipt)
	}))
	server.Config.ErrorLog = nil
	server.StartTLS()
	defer server.Close()
	stranger := clientOf(t, 1)
	op := stranger.Buy(t.Context(), time.Now(), time.Now(), server.URL, one)
	assert.Equal(t, history.NotSold, op.Outcome)
	assert.Contains(t, op.Detail, "certificate")

	c := clientOf(t, 1)
	c.transport.TLSClientConfig = server.Client().Transport.(*http.Transport).TLSClientConfig
	for range 3 {
		op = c.Buy(t.Context(), time.Now(), time.Now(), server.URL, one)
		assert.Equal(t, history.Sold, op.Outcome, op.Detail)
	}
}

// BenchmarkOrder measures the cost of an order to a client and a minimal shop.
func BenchmarkOrder(b *testing.B) {
	answer := sold("")
	w := newWire(b, func(string) string { return answer })
	c := clientOf(b, 1)
	b.ReportAllocs()
	for b.Loop() {
		if op := w.buy(b, c); op.Outcome != history.Sold {
			b.Fatal(op.Detail)
		}
	}
	c.Close()
}
