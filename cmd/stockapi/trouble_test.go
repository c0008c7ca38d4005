package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/backend"
	"stockapi/internal/backend/backendtest"
)

// Bad input gets its documented problem, leaves stock and locks unchanged, and is logged once.
func TestBadInput(t *testing.T) {
	s := backendtest.StartEmbedded(t)
	r := start(t, "--redis", s.URL)
	rdb := backendtest.Client(t, s)
	ctx := context.Background()
	require.NoError(t, rdb.Set(ctx, "ProductStock_text", "many", 0).Err())
	require.NoError(t, rdb.LPush(ctx, "ProductStock_list", "1").Err())
	require.NoError(t, rdb.Set(ctx, "ProductStock_huge", "99999999999999999999", 0).Err())
	before := contents(t, s)

	logged := map[string]int{"ready": 1, "draining": 1, "stopped": 1, "shop opened": 1}
	for _, c := range []struct {
		name, method, path, body string
		status                   int
		problem                  string
	}{
		{"unknown rung", "POST", "/v99/decrease", "", 404, "no-such-rung"},
		{"unknown product", "POST", "/v4/decrease?product=none", "", 404, "no-such-product"},
		{"unknown route", "POST", "/nowhere", "", 404, "no-such-route"},
		{"method", "GET", "/v4/decrease", "", 405, "method-not-allowed"},
		{"method on stock", "POST", "/stock/10000", "", 405, "method-not-allowed"},
		{"product with a space", "POST", "/v4/decrease?product=a%20b", "", 400, "bad-input"},
		{"product with a newline", "POST", "/v4/decrease", `{"product":"a\nb"}`, 400, "bad-input"},
		{"product too long", "POST", "/v4/decrease?product=" + strings.Repeat("x", 65), "", 400, "bad-input"},
		{"no product", "POST", "/v4/decrease?product=", "", 400, "bad-input"},
		{"quantity is a word", "POST", "/v4/decrease?quantity=two", "", 400, "bad-input"},
		{"quantity is zero", "POST", "/v4/decrease?quantity=0", "", 400, "bad-input"},
		{"quantity is negative", "POST", "/v4/decrease?quantity=-1", "", 400, "bad-input"},
		{"quantity is a fraction", "POST", "/v4/decrease", `{"quantity":1.5}`, 400, "bad-input"},
		{"quantity has an exponent", "POST", "/v4/decrease", `{"quantity":1e2}`, 400, "bad-input"},
		{"quantity is huge", "POST", "/v4/decrease?quantity=1001", "", 400, "bad-input"},
		{"quantity overflows", "POST", "/v4/decrease?quantity=99999999999999999999", "", 400, "bad-input"},
		{"quantity is nothing", "POST", "/v4/decrease?quantity=", "", 400, "bad-input"},
		{"quantity is null", "POST", "/v4/decrease", `{"quantity":null}`, 400, "bad-input"},
		{"quantity is a list", "POST", "/v4/decrease", `{"quantity":[1]}`, 400, "bad-input"},
		{"wait too long", "POST", "/v4/decrease?wait=61s", "", 400, "bad-input"},
		{"wait is negative", "POST", "/v4/decrease?wait=-1s", "", 400, "bad-input"},
		{"wait without a unit", "POST", "/v4/decrease?wait=5", "", 400, "bad-input"},
		{"ttl too short", "POST", "/v4/decrease?ttl=1ms", "", 400, "bad-input"},
		{"ttl too long", "POST", "/v4/decrease?ttl=11m", "", 400, "bad-input"},
		{"work too long", "POST", "/v4/decrease?work=2m", "", 400, "bad-input"},
		{"work overflows", "POST", "/v4/decrease?work=99999999999h", "", 400, "bad-input"},
		{"unknown parameter", "POST", "/v4/decrease?quantiy=2", "", 400, "bad-input"},
		{"unknown field", "POST", "/v4/decrease", `{"quantiy":2}`, 400, "bad-input"},
		{"parameter twice", "POST", "/v4/decrease?quantity=1&quantity=2", "", 400, "bad-input"},
		{"field twice", "POST", "/v4/decrease", `{"quantity":1,"quantity":2}`, 400, "bad-input"},
		{"body cut short", "POST", "/v4/decrease", `{"quantity":1`, 400, "bad-input"},
		{"body is no object", "POST", "/v4/decrease", `[1]`, 400, "bad-input"},
		{"body is no JSON", "POST", "/v4/decrease", `quantity=1`, 400, "bad-input"},
		{"two bodies", "POST", "/v4/decrease", `{}{}`, 400, "bad-input"},
		{"body of 10 MB", "POST", "/v4/decrease", `{"product":"` + strings.Repeat("x", 10<<20) + `"}`, 413, "too-large"},
		{"query that does not parse", "POST", "/v4/decrease?quantity=%zz", "", 400, "bad-input"},
		{"stock is text", "POST", "/v4/decrease?product=text", "", 502, "stock-corrupt"},
		{"stock is a list", "POST", "/v4/decrease?product=list", "", 502, "stock-corrupt"},
		{"stock overflows", "POST", "/v4/decrease?product=huge", "", 502, "stock-corrupt"},
		{"stock overflows on v17", "POST", "/v17/decrease?product=huge", "", 502, "stock-corrupt"},
		{"set stock to nothing", "PUT", "/stock/10000", `{}`, 400, "bad-input"},
		{"set stock below zero", "PUT", "/stock/10000", `{"quantity":-1}`, 400, "bad-input"},
		{"set stock too high", "PUT", "/stock/10000", `{"quantity":1000000001}`, 400, "bad-input"},
		{"set another field", "PUT", "/stock/10000", `{"quantity":1,"left":2}`, 400, "bad-input"},
		{"stock of a strange product", "GET", "/stock/a%20b", "", 400, "bad-input"},
		{"stock of no product", "GET", "/stock/none", "", 404, "no-such-product"},
		{"locks of a strange product", "DELETE", "/locks/a*", "", 400, "bad-input"},
	} {
		t.Run(c.name, func(t *testing.T) {
			logged[c.problem]++
			a := r.do(t, c.method, c.path, strings.NewReader(c.body))
			assert.Equal(t, c.status, a.status, a.text)
			assert.Equal(t, c.problem, a.problem())
			assert.Equal(t, "application/problem+json", a.header.Get("Content-Type"))
			assert.Equal(t, before, contents(t, s))
		})
	}
	assert.Equal(t, http.StatusOK, r.post(t, "/v4/decrease").status, "and it still sells")
	r.end()
	require.NoError(t, r.wait())
	for _, message := range r.logs.since(0) {
		logged[message]--
	}
	for message, missing := range logged {
		assert.Zero(t, missing, message)
	}
}

// Without the flag a fault is refused; with it, an invalid one is.
func TestFaultsOnlyBehindTheirFlag(t *testing.T) {
	backendtest.Long(t)
	t.Parallel()
	s := backendtest.StartEmbedded(t)
	without := start(t, "--redis", s.URL)
	assert.Equal(t, "bad-input", without.post(t, "/v4/decrease?fault=hold@before:set").problem())
	assert.Equal(t, "no-such-route", without.do(t, http.MethodGet, "/faults", nil).problem())
	with := start(t, "--redis", s.URL, "--faults", "--max-renewals", "1")
	assert.Equal(t, "bad-input", with.post(t, "/v4/decrease?fault=crash@before:set").problem())
	assert.Contains(t, without.post(t, "/v4/decrease?fault=hold@before:set").body["detail"], "with --faults")
	assert.Contains(t, with.post(t, "/v5.5/decrease?fault=hold@before:foo").body["detail"], "write (set/stock)")
	for _, fault := range []string{"hold@before:get/stock", "hold@before:write"} { // a command, and a step
		request, err := http.NewRequest(http.MethodPost, with.url+"/V4/decrease?trace=true&fault="+fault, nil)
		require.NoError(t, err)
		request.Header.Set("X-Request-ID", "held")
		done := make(chan answer, 1)
		go func() { done <- with.send(t, request) }()
		require.Eventually(t, func() bool {
			return with.do(t, http.MethodDelete, "/faults/held?after=1ms", nil).status == http.StatusNoContent
		}, 10*time.Second, 5*time.Millisecond, fault)
		assert.Contains(t, fmt.Sprint((<-done).body["trace"]), fault)
	}
	assert.Equal(t, "bad-input", with.do(t, http.MethodDelete, "/faults/held?after=2m", nil).problem())
	assert.Equal(t, "lease-exhausted", with.post(t, "/v5.5/decrease?ttl=2s&work=30s").problem())
	assert.Equal(t, 200, with.post(t, "/v5.5/decrease").status, "and the lock is free")
}

// contents returns all strings of a server, by key. The lists of the tests do not change.
func contents(t *testing.T, s *backendtest.Server) map[string]string {
	t.Helper()
	rdb := backendtest.Client(t, s)
	all := map[string]string{}
	for _, key := range rdb.Keys(context.Background(), "*").Val() {
		all[key] = rdb.Get(context.Background(), key).Val()
	}
	return all
}

func TestBusyAndSoldOut(t *testing.T) {
	s := backendtest.StartEmbedded(t)
	r := start(t, "--redis", s.URL, "--stock", "1")
	require.NoError(t, backendtest.Client(t, s).Set(context.Background(), "DistributedLock_10000", "1", 0).Err())
	a := r.post(t, "/v4/decrease")
	assert.Equal(t, 423, a.status)
	assert.NotEmpty(t, a.header.Get("Retry-After"))
	assert.Equal(t, http.StatusOK, r.do(t, http.MethodDelete, "/locks/10000", nil).status)
	assert.Equal(t, 200, r.post(t, "/v4/decrease").status)
	a = r.post(t, "/v4/decrease")
	assert.Equal(t, 409, a.status)
	assert.Equal(t, "not-sold", a.body["outcome"])
}

// Without its Redis an instance answers clear 503s; once that is back, it sells again, without a restart.
func TestRedisGoesAwayAndReturns(t *testing.T) {
	backendtest.Require(t)
	s, stop, restart := backendtest.Restartable(t)
	r := start(t, "--redis", s.URL)
	require.Equal(t, 200, r.post(t, "/v4/decrease").status)
	stop()
	require.Eventually(t, func() bool { return r.do(t, http.MethodGet, "/readyz", nil).status == 503 },
		10*time.Second, 10*time.Millisecond)
	for _, path := range []string{"/v0/decrease", "/v1/decrease", "/v5/decrease", "/v6/decrease?wait=0s"} {
		a := r.post(t, path)
		assert.Equal(t, 503, a.status, a.text)
		assert.Equal(t, "backend-away", a.problem())
		assert.Equal(t, "not-sold", a.body["outcome"])
	}
	assert.Equal(t, 200, r.do(t, http.MethodGet, "/livez", nil).status, "a restart would not help")
	restart()
	require.Eventually(t, func() bool { return r.do(t, http.MethodGet, "/readyz", nil).status == 200 },
		10*time.Second, 10*time.Millisecond)
	require.Equal(t, 200, r.do(t, http.MethodPut, "/stock/10000", strings.NewReader(`{"quantity":3}`)).status)
	for _, rung := range []string{"v1", "v5", "v6"} {
		assert.Equal(t, 200, r.post(t, "/"+rung+"/decrease").status, rung)
	}
}

// What Redis refuses was not done: the sale is not in doubt, and nothing changes.
func TestRedisRefuses(t *testing.T) {
	for _, complaint := range []string{
		"READONLY You can't write against a read only replica.",
		"LOADING Redis is loading the dataset in memory",
		"NOAUTH Authentication required.",
		"OOM command not allowed when used memory > 'maxmemory'.",
	} {
		e, err := backend.StartEmbedded("127.0.0.1:0")
		require.NoError(t, err)
		t.Cleanup(e.Close)
		r := start(t, "--redis", e.URL())
		e.Server().SetError(complaint)
		for _, rung := range []string{"v0", "v4", "v6"} {
			a := r.post(t, "/"+rung+"/decrease?wait=0s")
			assert.Equal(t, 503, a.status, a.text)
			assert.Equal(t, "not-sold", a.body["outcome"], complaint)
		}
		e.Server().SetError("")
		assert.EqualValues(t, 100, r.do(t, http.MethodGet, "/stock/10000", nil).body["quantity"])
		assert.Contains(t, r.logs.text(), complaint[:8], "the log says why")
	}
}

func TestStartWithoutRedis(t *testing.T) {
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"--redis", "redis://127.0.0.1:1"}, "use --redis embedded"},
		{[]string{"--redis", "redis://127.0.0.1:1"}, "no Redis at redis://127.0.0.1:1 "},
		{[]string{"--redis", "nonsense"}, "--redis"},
	} {
		err := run(context.Background(), append(c.args, "--addr", "127.0.0.1:0"), strings.NewReader(""), io.Discard,
			io.Discard)
		require.ErrorContains(t, err, c.says)
		assert.NotContains(t, err.Error(), "\n", "one line")
		assert.Equal(t, 1, exitCode(io.Discard, err))
	}
}

// An instance that is ended while it starts reports no missing server.
func TestEndedWhileItStarts(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer silent.Close()
	ctx, end := context.WithCancel(t.Context())
	go func() {
		if asked, err := silent.Accept(); err == nil {
			end()
			_, _ = io.Copy(io.Discard, asked)
			_ = asked.Close()
		}
	}()
	err = run(ctx, []string{"--redis", "redis://" + silent.Addr().String(), "--redis-timeout", "100ms",
		"--addr", "127.0.0.1:0"}, strings.NewReader(""), io.Discard, io.Discard)
	require.EqualError(t, err, "ended before it was ready: context canceled")
}

// exits runs an instance that must not start, and returns its exit code and its output.
func exits(t *testing.T, args ...string) (code int, text string) {
	t.Helper()
	var said strings.Builder
	args = append([]string{"--addr", "127.0.0.1:0", "--sql", "none"}, args...)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second) // one that does start ends by itself
	defer cancel()
	code = exitCode(&said, run(ctx, args, strings.NewReader(""), io.Discard, io.Discard))
	return code, said.String()
}

// A product that no request could name is refused.
func TestStartProductNeedsAName(t *testing.T) {
	for _, product := range []string{"", "../x y", "a.b", strings.Repeat("a", 65)} {
		code, text := exits(t, "--redis", "embedded", "--embedded-addr", "127.0.0.1:0", "--product="+product)
		assert.Equal(t, 2, code, product)
		assert.Contains(t, text, "--product")
	}
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{{"--bogus"}, {"--ttl", "1ms"}, {"--ttl", "soon"}, {"--max-quantity", "0"},
		{"--log-format", "xml"}, {"--wait", "1h"}, {"--stock", "1000000001"}, {"redis", "--bogus"}, {"surplus"},
		{"--admin-token", "a b"}} {
		err := run(context.Background(), args, strings.NewReader(""), io.Discard, io.Discard)
		assert.Equal(t, 2, exitCode(io.Discard, err), args)
	}
	for _, flag := range []string{"--help", "-h"} {
		var help strings.Builder
		require.NoError(t, run(context.Background(), []string{flag}, strings.NewReader(""), &help, io.Discard))
		assert.Contains(t, help.String(), "STOCKAPI_REDLOCK_RETRY")
		assert.Contains(t, help.String(), "End when standard input ends", "a text of longHelp")
	}
}

func TestPortTaken(t *testing.T) {
	s := backendtest.StartEmbedded(t)
	taken := strings.TrimPrefix(start(t, "--redis", s.URL).url, "http://")
	err := run(context.Background(), []string{"--redis", s.URL, "--addr", taken}, strings.NewReader(""), io.Discard,
		io.Discard)
	require.ErrorContains(t, err, "choose another with --addr")
}
