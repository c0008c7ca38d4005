package handlers

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/sale"
)

// A wire is a listener without a network: what dial returns is the other end of what it accepts. Its connections keep
// to the clock of a synctest bubble, in which seconds pass at once, and buffer nothing.
type wire struct {
	conns chan net.Conn
	once  sync.Once
	gone  chan struct{}
}

func newWire() *wire { return &wire{conns: make(chan net.Conn), gone: make(chan struct{})} }

func (w *wire) Accept() (net.Conn, error) {
	select {
	case c := <-w.conns:
		return c, nil
	case <-w.gone:
		return nil, net.ErrClosed
	}
}

func (w *wire) Close() error {
	w.once.Do(func() { close(w.gone) })
	return nil
}

func (w *wire) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 5000} }

func (w *wire) dial() net.Conn {
	ours, theirs := net.Pipe()
	w.conns <- theirs
	return ours
}

// overWire serves h within a synctest bubble.
func overWire(h http.Handler) (dial func() net.Conn, end func()) {
	w := newWire()
	server := &http.Server{Handler: h, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)}
	served := make(chan error)
	go func() { served <- server.Serve(w) }()
	return w.dial, func() {
		_ = server.Close()
		<-served
	}
}

// newSlow returns the handler of a shop that takes its time, and a channel with the end of its administrative work.
func newSlow(work time.Duration) (h http.Handler, ended chan error) {
	wait := func(ctx context.Context) error {
		select {
		case <-ctx.Done():
		case <-time.After(work):
		}
		return ctx.Err()
	}
	ended = make(chan error, 1)
	return newFake(&fakeShop{
		sell: func(ctx context.Context, _ sale.Order) (sale.Receipt, error) {
			return sale.Receipt{Rung: "v4", Product: "10000"}, wait(ctx)
		},
		breakLocks: func(ctx context.Context) error {
			err := wait(ctx)
			ended <- err
			return err
		},
	}, ""), ended
}

// On every route, whether or not its handler reads a body, an endless body is answered when its time is up, and then
// its connection ends.
func TestABodyThatNeverEndsIsAnswered(t *testing.T) {
	for _, route := range []string{"POST /v4/decrease", "GET /v10/stock/10000", "PUT /stock/10000", "DELETE /stock/10000",
		"GET /stock/10000", "DELETE /locks/10000", "GET /livez", "GET /docs", "POST /nowhere", "PATCH /stock/10000",
		"GET /faults", "DELETE /faults/x"} {
		for name, body := range map[string]string{
			"announced": "Content-Length: 100\r\n\r\n{", "chunked": "Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n",
			"expected": "Expect: 100-continue\r\nContent-Length: 100\r\n\r\n",
			"closing":  "Connection: close\r\nContent-Length: 100\r\n\r\n{",
		} {
			t.Run(route+" "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					dial, end := overWire(newFake(&fakeShop{}, "secret"))
					defer end()
					c := dial()
					began := time.Now()
					go fmt.Fprintf(c, "%s HTTP/1.1\r\nHost: localhost\r\n%s", route, body)
					response := readAnswer(t, c)
					assert.Equal(t, 400, response.StatusCode)
					assert.True(t, response.Close, "announces the end of the connection")
					assert.Equal(t, bodyTime, time.Since(began))
					synctest.Wait()
					_, err := c.Read(make([]byte, 1))
					assert.ErrorIs(t, err, io.EOF)
					assert.Equal(t, bodyTime, time.Since(began), "and it ends at once")
				})
			})
		}
	}
}

// readAnswer reads an answer, and the problem in it.
func readAnswer(t *testing.T, c net.Conn) *http.Response {
	t.Helper()
	in := bufio.NewReader(c)
	response, err := http.ReadResponse(in, nil)
	for err == nil && response.StatusCode == http.StatusContinue {
		response, err = http.ReadResponse(in, nil)
	}
	require.NoError(t, err)
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	response.Body = io.NopCloser(strings.NewReader(string(text)))
	return response
}

// A body that trickles gets no more time than one that stands still.
func TestABodyThatTrickles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dial, end := overWire(newFake(&fakeShop{}, ""))
		defer end()
		c := dial()
		began := time.Now()
		var sending sync.WaitGroup
		sending.Go(func() {
			_, err := io.WriteString(c, "POST /v4/decrease HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n")
			for err == nil {
				time.Sleep(100 * time.Millisecond)
				_, err = io.WriteString(c, " ")
			}
		})
		response := readAnswer(t, c)
		assert.Equal(t, 400, response.StatusCode)
		assert.Equal(t, bodyTime, time.Since(began))
		sending.Wait() // until it is no longer read
		assert.Less(t, time.Since(began), bodyTime+time.Second)
	})
}

// The limits on a body end with it: work, however long, is not cut off by them, with a body and without.
func TestWorkIsNotCutOffByTheLimitsOfBodiesAndAnswers(t *testing.T) {
	for _, route := range []string{"POST /v4/decrease", "DELETE /locks/10000"} {
		for _, body := range []string{"\r\n", "Content-Length: 2\r\n\r\n{}",
			"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"} {
			synctest.Test(t, func(t *testing.T) {
				h, _ := newSlow(adminTime - time.Second)
				dial, end := overWire(h)
				defer end()
				c := dial()
				go fmt.Fprintf(c, "%s HTTP/1.1\r\nHost: localhost\r\n%s", route, body)
				assert.Equal(t, 200, readAnswer(t, c).StatusCode, "%s %q", route, body)
				go fmt.Fprintf(c, "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
				assert.Equal(t, 200, readAnswer(t, c).StatusCode, "and the connection is kept")
				_ = c.Close()
			})
		}
	}
}

// Administrative work is completed even if its client goes away, but not for ever.
func TestAdministrationIsSeenThrough(t *testing.T) {
	for name, c := range map[string]struct {
		work time.Duration
		err  error
	}{"seen through": {adminTime - time.Second, nil}, "bounded": {time.Hour, context.DeadlineExceeded}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h, ended := newSlow(c.work)
				dial, end := overWire(h)
				defer end()
				client := dial()
				_, err := io.WriteString(client, "DELETE /locks/10000 HTTP/1.1\r\nHost: localhost\r\n\r\n")
				require.NoError(t, err)
				synctest.Wait()
				_ = client.Close()
				assert.Equal(t, c.err, <-ended)
			})
		})
	}
}

// A client that does not read its answer loses its connection, so that it cannot hold the instance up.
func TestAClientThatDoesNotReadItsAnswer(t *testing.T) {
	for _, path := range []string{"/livez", "/docs", "/v10/stock/10000"} {
		synctest.Test(t, func(t *testing.T) {
			dial, end := overWire(newFake(&fakeShop{}, ""))
			defer end()
			c := dial()
			_, err := fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", path)
			require.NoError(t, err)
			time.Sleep(answerTime - time.Millisecond)
			synctest.Wait()
			_, err = c.Read(make([]byte, 1))
			require.NoError(t, err, "a slow one still gets it")
			time.Sleep(2 * time.Millisecond)
			synctest.Wait()
			_, err = io.Copy(io.Discard, c)
			require.NoError(t, err)
			_, err = c.Write([]byte("x"))
			assert.Error(t, err, "%s: the connection is closed", path)
		})
	}
}

// During shutdown every answer closes its connection, also that to an earlier request, so that no client sends another
// request on it.
func TestAnInstanceThatShutsDownEndsItsConnections(t *testing.T) {
	for _, path := range []string{"/livez", "/readyz", "/docs", "/stock/10000", "/v10/stock/10000", "/nowhere"} {
		synctest.Test(t, func(t *testing.T) {
			f := &fakeShop{}
			dial, end := overWire(newFake(f, ""))
			defer end()
			c := dial()
			for _, closed := range []bool{false, true} {
				f.closed = closed
				go fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", path)
				assert.Equal(t, closed, readAnswer(t, c).Close, path)
			}
		})
	}
}

// A page of another site cannot sell, read under a lock, or administer. Our page can, and so can clients other than
// pages.
func TestAPageOfAnotherSite(t *testing.T) {
	h := newFake(&fakeShop{}, "")
	for _, c := range []struct {
		target, header, value string
		status                int
	}{
		{"POST /v4/decrease", "Sec-Fetch-Site", "cross-site", 403},
		{"POST /v4/decrease", "Sec-Fetch-Site", "same-site", 403},
		{"POST /v4/decrease", "Sec-Fetch-Site", "same-origin", 200},
		{"POST /v4/decrease", "Sec-Fetch-Site", "none", 200},
		{"POST /v4/decrease", "Origin", "http://attacker.example", 403},
		{"POST /v4/decrease", "Origin", "http://127.0.0.1:5001", 403},
		{"POST /v4/decrease", "Origin", "null", 403},
		{"POST /v4/decrease", "Origin", "http://127.0.0.1:5000", 200},
		{"POST /v4/decrease", "X-Nothing", "a program", 200},
		{"GET /v10/stock/10000", "Sec-Fetch-Site", "cross-site", 403},
		{"GET /v10/stock/10000", "Sec-Fetch-Site", "same-origin", 200},
		{"GET /v10/stock/10000?fault=hold@before:get", "Sec-Fetch-Site", "cross-site", 403},
		{"PUT /stock/10000?quantity=1", "Origin", "http://attacker.example", 403},
		{"DELETE /stock/10000", "Origin", "http://attacker.example", 403},
		{"DELETE /locks/10000", "Sec-Fetch-Site", "cross-site", 403},
		{"DELETE /faults/x", "Sec-Fetch-Site", "cross-site", 403},
		{"POST /nowhere", "Sec-Fetch-Site", "cross-site", 403},
		{"GET /docs", "Sec-Fetch-Site", "cross-site", 200}, // a link to it
	} {
		method, path, _ := strings.Cut(c.target, " ")
		r := httptest.NewRequest(method, path, nil)
		r.Host = "127.0.0.1:5000"
		r.Header.Set(c.header, c.value)
		r.Header.Set("Content-Type", "text/plain")
		answer := serveTo(h, r)
		assert.Equal(t, c.status, answer.Code, "%s %s: %s", c.target, c.header, c.value)
	}
}

// A foreign name that resolves to this machine is refused on every route.
func TestAHostThatIsNotOurs(t *testing.T) {
	type hosts []string
	for _, c := range []struct {
		Hosts
		ours, others hosts
	}{
		{Hosts{}, hosts{"localhost", "localhost:5000", "LocalHost.", "a.localhost", "127.0.0.1", "127.0.0.1:80", "127.9.9.9",
			"[::1]", "[::1]:5000", ""},
			hosts{"attacker.example", "attacker.example:5000", "localhost.attacker.example", "127.0.0.1.attacker.example",
				"192.168.1.5:5000", "0.0.0.0", "stockapi-a:5000", "xlocalhost", ":5000", "[fe80::1]"}},
		{Hosts{Names: []string{"Shop.example", "10.0.0.1"}}, hosts{"shop.example:443", "10.0.0.1:5000", "localhost"},
			hosts{"a.shop.example", "10.0.0.2"}},
		{Hosts{Beyond: true}, hosts{"localhost:5000", "192.168.1.5:5000", "[fd00::1]:5000", "stockapi-a:5000", "127.0.0.1"},
			hosts{"attacker.example", "stockapi.attacker.example:5000", ":5000"}},
		{Hosts{Names: []string{"*"}}, hosts{"attacker.example"}, nil},
	} {
		f := &fakeShop{}
		config := fakeConfig(f, "")
		config.Hosts = c.Hosts
		h := New(f, f, config)
		for status, names := range map[int]hosts{200: c.ours, 421: c.others} {
			for _, host := range names {
				for _, target := range []string{"POST /v4/decrease", "PUT /stock/10000?quantity=1", "GET /stock/10000",
					"GET /docs"} {
					method, path, _ := strings.Cut(target, " ")
					r := httptest.NewRequest(method, path, nil)
					r.Host = host
					answer := serveTo(h, r)
					assert.Equal(t, status, answer.Code, "%+v: %s of %q", c.Hosts, target, host)
				}
			}
		}
	}
}

// A fault can hold a lock: where there is an admin token, it takes that.
func TestFaultsAreBehindTheToken(t *testing.T) {
	f := &fakeShop{receipt: sale.Receipt{Rung: "v4", Product: "10000", Units: []int64{}, Instance: "a", Order: "mine"}}
	h, contract := newFake(f, "secret"), newContract(t)
	for _, target := range []string{"POST /v4/decrease?fault=hold@before:get",
		"GET /v10/stock/10000?fault=hold@before:get", "GET /faults", "DELETE /faults/x"} {
		for authorization, refused := range map[string]bool{"": true, "Bearer wrong": true, "Bearer secret": false} {
			r := request(target, "")
			r.Header.Set("Authorization", authorization)
			code := contract.call(t, h, r).Code
			assert.Equal(t, refused, code == http.StatusUnauthorized, "%s with %q: %d", target, authorization, code)
		}
	}
	assert.Equal(t, 200, contract.call(t, h, request("POST /v4/decrease", "")).Code, "an order takes no token")
	config := fakeConfig(f, "secret")
	config.Faults = nil
	r := request("POST /v4/decrease?fault=hold@before:get", "")
	assert.Equal(t, 400, contract.call(t, New(f, f, config), r).Code, "without the flag there are no faults")
}
