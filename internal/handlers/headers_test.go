package handlers

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/lock"
	"stockapi/internal/sale"
	"stockapi/internal/stock"
)

func serveTo(h http.Handler, r *http.Request) *httptest.ResponseRecorder {
	answer := httptest.NewRecorder()
	h.ServeHTTP(answer, r)
	return answer
}

// The admin token must match as a whole; its scheme may be in any case, as in HTTP.
func TestTheAdminTokenIsTheWholeToken(t *testing.T) {
	h := newFake(&fakeShop{}, "secret")
	for header, status := range map[string]int{
		"Bearer secret": 204, "bearer secret": 204, "BEARER secret": 204,
		"": 401, "secret": 401, "Bearer": 401, "Bearer ": 401, "Bearer secre": 401, "Bearer secret2": 401,
		"Bearer secret ":      401,
		"Bearer secretsecret": 401, "Bearer secret\x00": 401, "Bearer xsecret": 401, "Bearer SECRET": 401,
		"Bearer  secret": 401,
		"Basic secret":   401, "Bearersecret": 401, " Bearer secret": 401, "Bearer secret, Bearer secret": 401,
	} {
		for _, target := range []string{"DELETE /stock/10000", "DELETE /locks/10000", "PUT /stock/10000?quantity=1"} {
			r := request(target, "")
			r.Header.Set("Authorization", header)
			answer := serveTo(h, r)
			assert.Equal(t, status == 401, answer.Code == 401, "%s with %q: %d", target, header, answer.Code)
			assert.Equal(t, status == 401, answer.Header().Get("WWW-Authenticate") == "Bearer", "%s with %q", target, header)
		}
	}
}

// HEAD is served wherever GET is, with the same status and behind the same token.
func TestHeadIsServedWhereverGetIs(t *testing.T) {
	f := &fakeShop{}
	engine := routes(f, f, fakeConfig(f, "secret"))
	for _, route := range engine.Routes() {
		if route.Method != http.MethodGet {
			continue
		}
		path := strings.NewReplacer(":rung", "v10", ":product", "10000", ":name", "sold-out").Replace(route.Path)
		get, head := serveTo(engine, request("GET "+path, "")), serveTo(engine, request("HEAD "+path, ""))
		assert.Equal(t, get.Code, head.Code, path)
		assert.Equal(t, get.Header().Get("Content-Type"), head.Header().Get("Content-Type"), path)
	}
	answer := serveTo(engine, request("HEAD /v4/decrease", ""))
	assert.Equal(t, http.StatusMethodNotAllowed, answer.Code, "and nowhere else")
}

// A newline ends every answer in JSON, problems too: on a terminal the next answer begins on a line of its own.
func TestANewlineEndsEveryAnswerInJSON(t *testing.T) {
	f := &fakeShop{}
	engine := routes(f, f, fakeConfig(f, ""))
	for _, target := range []string{"POST /v4/decrease", "POST /v4/decrease?bogus=1", "GET /v10/stock/10000", "GET /rungs",
		"GET /stock/10000", "PUT /stock/10000?quantity=1", "DELETE /locks/10000", "GET /orders/nobody", "GET /faults",
		"DELETE /faults/nobody", "GET /nowhere", "PUT /rungs"} {
		answer := serveTo(engine, request(target, ""))
		assert.Contains(t, answer.Header().Get("Content-Type"), "json", target)
		body := answer.Body.String()
		assert.Equal(t, strings.TrimSpace(body)+"\n", body, target)
		assert.Equal(t, 1, strings.Count(body, "\n"), target)
	}
}

// ?pretty indents every answer, and is no parameter of an order. Texts of the client are returned verbatim.
func TestAnAnswerCanBeRead(t *testing.T) {
	f := &fakeShop{}
	engine := routes(f, f, fakeConfig(f, ""))
	for _, target := range []string{"POST /v4/decrease?pretty", "POST /v4/decrease?bogus=1&pretty",
		"GET /stock/10000?pretty", "PUT /stock/10000?quantity=1&pretty", "GET /rungs?pretty"} {
		plain := serveTo(engine, request(strings.NewReplacer("?pretty", "", "&pretty", "").Replace(target), ""))
		answer := serveTo(engine, request(target, ""))
		assert.Equal(t, plain.Code, answer.Code, target)
		assert.Regexp(t, `^\{\n  "`, answer.Body.String(), target)
	}
	assert.Equal(t, http.StatusBadRequest, serveTo(engine, request("POST /v4/decrease?pretty=7", "")).Code)
	answer := serveTo(engine, request("POST /v4/decrease?%3Cb%3E=1", ""))
	assert.Contains(t, answer.Body.String(), `unknown parameter \"<b>\"`)
}

// A trailing slash makes another path, which is no route: no order is redirected.
func TestASlashAtTheEndIsAnotherPath(t *testing.T) {
	h := newFake(&fakeShop{}, "")
	for _, target := range []string{"POST /v4/decrease/", "GET /rungs/", "GET /stock/10000/", "DELETE /locks/10000/",
		"GET /livez/",
		"HEAD /docs/", "POST //v4/decrease", "POST /v4//decrease"} {
		method, path, _ := strings.Cut(target, " ")
		r := httptest.NewRequest(method, "http://127.0.0.1"+path, nil)
		r.Header.Set("X-Forwarded-Prefix", "//elsewhere.example")
		answer := serveTo(h, r)
		assert.Equal(t, http.StatusNotFound, answer.Code, target)
		assert.Empty(t, answer.Header().Get("Location"), target)
		assert.Contains(t, answer.Body.String(), "/problems/no-such-route", target)
	}
}

// Every answer has the name of its request, and nosniff.
func TestEveryAnswerHasTheHeadersOfAll(t *testing.T) {
	for _, c := range []struct {
		target string
		err    error
	}{
		{"POST /v4/decrease", nil}, {"POST /v4/decrease", lock.ErrBusy},
		{"POST /v4/decrease", errPanic}, {"POST /v4/decrease?x=1", nil},
		{"GET /v4/decrease", nil}, {"GET /nowhere", nil}, {"GET /docs", nil}, {"GET /rungs", nil}, {"GET /livez", nil},
		{"GET /metrics", nil}, {"GET /", nil}, {"DELETE /locks/10000", nil},
		{"PUT /stock/10000?quantity=1", nil}, {"OPTIONS /rungs", nil},
	} {
		h := newFake(&fakeShop{err: c.err}, "secret")
		for given, echoed := range map[string]string{"order-7": "order-7", "": "[A-Z2-7]{26}", "a b": "[A-Z2-7]{26}",
			strings.Repeat("x", 65): "[A-Z2-7]{26}"} {
			r := request(c.target, "")
			r.Header.Set("X-Request-ID", given)
			answer := serveTo(h, r)
			assert.Equal(t, "nosniff", answer.Header().Get("X-Content-Type-Options"), c.target)
			assert.Len(t, answer.Header().Values("X-Request-ID"), 1, c.target)
			assert.Regexp(t, "^"+echoed+"$", answer.Header().Get("X-Request-ID"), c.target)
		}
	}
}

func TestTheNameThatIsMadeUpIsTheOrders(t *testing.T) {
	var last string
	h := newFake(&fakeShop{sell: func(_ context.Context, o sale.Order) (sale.Receipt, error) {
		last = o.ID
		return sale.Receipt{Order: o.ID}, nil
	}}, "")
	answer := serveTo(h, request("POST /v4/decrease", ""))
	assert.NotEmpty(t, last)
	assert.Equal(t, last, answer.Header().Get("X-Request-ID"))
}

func TestRetryAfterWhereItHelps(t *testing.T) {
	for name, err := range map[string]error{"backend-away": io.ErrUnexpectedEOF, "draining": sale.ErrDraining,
		"lock-busy":  lock.ErrBusy,
		"lease-lost": lock.ErrLost, "lease-exhausted": lock.ErrExhausted, "fence-stale": stock.ErrStale} {
		answer := serveTo(newFake(&fakeShop{err: err}, ""), request("POST /v4/decrease", ""))
		assert.Contains(t, answer.Body.String(), name)
		assert.Equal(t, "1", answer.Header().Get("Retry-After"), name)
	}
	for _, err := range []error{sale.ErrUnavailable, stock.ErrSoldOut, stock.ErrUnknown, sale.ErrNoRung} {
		answer := serveTo(newFake(&fakeShop{err: err}, ""), request("POST /v4/decrease", ""))
		assert.Empty(t, answer.Header().Get("Retry-After"), err)
	}
	assert.Equal(t, "1", serveTo(newFake(&fakeShop{closed: true}, ""),
		request("GET /readyz", "")).Header().Get("Retry-After"))
	assert.Equal(t, "1", serveTo(newFake(&fakeShop{err: io.EOF}, ""),
		request("GET /readyz", "")).Header().Get("Retry-After"))
}

// An encoded body is refused unread. Identity is no encoding.
func TestEncodedBodies(t *testing.T) {
	for encoding, status := range map[string]int{"gzip": 415, "GZIP": 415, "br": 415, "identity, gzip": 415,
		"identity": 200, "Identity": 200, "": 200} {
		for _, target := range []string{"POST /v4/decrease", "PUT /stock/10000"} {
			r := request(target, `{"quantity":1}`)
			r.Header.Set("Content-Encoding", encoding)
			answer := serveTo(newFake(&fakeShop{}, ""), r)
			assert.Equal(t, status, answer.Code, "%s %s", target, encoding)
			assert.Equal(t, status == 415, answer.Header().Get("Accept-Encoding") == "identity", "%s %s", target, encoding)
		}
	}
}

// A misspelt parameter is refused on every route but probes and the pages for browsers.
func TestUnknownParametersOnEveryRoute(t *testing.T) {
	h := newFake(&fakeShop{}, "")
	for target, status := range map[string]int{
		"GET /stock/10000": 400, "PUT /stock/10000": 400, "DELETE /stock/10000": 400, "DELETE /locks/10000": 400,
		"GET /rungs":  400,
		"GET /faults": 400, "DELETE /faults/mine": 400, "POST /v4/decrease": 400, "GET /v10/stock/10000": 400,
		"HEAD /rungs": 400,
		"GET /livez":  200, "GET /readyz": 200, "GET /metrics": 200, "GET /docs": 200, "GET /openapi.yaml": 200, "GET /": 302,
	} {
		assert.Equal(t, status, serveTo(h, request(target+"?dry-run=true", "")).Code, target)
	}
}

// If a client goes away while a backend fails, the log has both.
func TestAClientThatWentWhileABackendFailed(t *testing.T) {
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for _, target := range []string{"POST /v4/decrease", "GET /v10/stock/10000", "GET /stock/10000",
		"PUT /stock/10000?quantity=1",
		"DELETE /stock/10000", "DELETE /locks/10000"} {
		var log bytes.Buffer
		f := &fakeShop{receipt: sale.Receipt{Rung: "v4"}, err: fmt.Errorf("read the stock: %w", io.ErrUnexpectedEOF)}
		config := fakeConfig(f, "")
		config.Log = slog.New(slog.NewJSONHandler(&log, nil))
		h := New(f, f, config)
		answer := serveTo(h, request(target, "").WithContext(gone))
		assert.Contains(t, answer.Body.String(), "/problems/client-gone", target)
		assert.Contains(t, log.String(), `"msg":"client-gone"`, target)
		assert.Contains(t, log.String(), io.ErrUnexpectedEOF.Error(), target)
		assert.Contains(t, log.String(), context.Canceled.Error(), target)
		if strings.HasPrefix(target, "POST") {
			assert.Contains(t, serveTo(h, request("GET /metrics", "")).Body.String(),
				`stockapi_sales_total{instance_name="a",outcome="client-gone",rung="v4"} 1`)
		}
	}
}

// What the narration has printed is not logged; other problems are.
func TestLogOmitsWhatIsNarrated(t *testing.T) {
	for _, narrated := range []bool{false, true} {
		var log bytes.Buffer
		f := &fakeShop{receipt: sale.Receipt{Rung: "v4", Narrated: narrated}, err: lock.ErrLost}
		config := fakeConfig(f, "")
		config.Log = slog.New(slog.NewJSONHandler(&log, nil))
		serveTo(New(f, f, config), request("POST /v4/decrease", ""))
		assert.Equal(t, !narrated, strings.Contains(log.String(), `"msg":"lease-lost"`))
	}
}

// Any number of probes asks the backends at most four times a second. A probe that disconnects affects no other.
func TestAFloodOfProbesIsNoLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked, failing := 0, error(nil)
		r := readiness{check: func(ctx context.Context) error {
			asked++
			deadline, ok := ctx.Deadline()
			assert.True(t, ok && time.Until(deadline) <= readyTime)
			time.Sleep(10 * time.Millisecond)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return failing
		}}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		require.NoError(t, r.ask(gone))
		for range 100 { // one after the other: a goroutine that waits for a mutex stops the clock of the bubble
			require.NoError(t, r.ask(t.Context()))
		}
		assert.Equal(t, 1, asked)

		failing = io.ErrUnexpectedEOF
		require.NoError(t, r.ask(t.Context()), "for a moment")
		time.Sleep(readyFor)
		require.ErrorIs(t, r.ask(t.Context()), io.ErrUnexpectedEOF)
		require.ErrorIs(t, r.ask(t.Context()), io.ErrUnexpectedEOF)
		assert.Equal(t, 2, asked)
		failing = nil
		time.Sleep(readyFor)
		require.NoError(t, r.ask(t.Context()))
		assert.Equal(t, 3, asked)
	})
}

// Requests that reach no handler are answered by net/http, without the headers of this service, as documented.
func TestHeadersOfTheHTTPServersOwnAnswers(t *testing.T) {
	about := loadOpenAPI(t).Info.Description
	server := httptest.NewServer(newFake(&fakeShop{}, ""))
	defer server.Close()
	for status, raw := range map[string]string{
		"400": "GET / HTTP/1.1\r\n\r\n",
		"417": "GET / HTTP/1.1\r\nHost: localhost\r\nExpect: wonders\r\n\r\n",
		"431": "GET / HTTP/1.1\r\nHost: localhost\r\nA: " + strings.Repeat("a", 2<<20) + "\r\n\r\n",
	} {
		c, err := net.Dial("tcp", server.Listener.Addr().String())
		require.NoError(t, err)
		go func() { _, _ = io.WriteString(c, raw) }()
		answer, err := http.ReadResponse(bufio.NewReader(c), nil)
		require.NoError(t, err, status)
		assert.Equal(t, status, answer.Status[:3])
		assert.Empty(t, answer.Header.Get("X-Request-ID"))
		assert.Contains(t, about, "("+status+")")
		require.NoError(t, c.Close())
	}
}
