package handlers

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/backend"
	"stockapi/internal/backend/backendtest"
	"stockapi/internal/lock"
	"stockapi/internal/sale"
	"stockapi/internal/stock"
	"stockapi/internal/trace"
)

func loadOpenAPI(t *testing.T) *openapi3.T {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromData(openAPI)
	require.NoError(t, err)
	require.NoError(t, doc.Validate(t.Context()), "with its examples")
	return doc
}

var ginParam = regexp.MustCompile(`:(\w+)`)

func TestEveryRouteIsDocumentedAndEveryPathIsARoute(t *testing.T) {
	var served, documented []string
	f := &fakeShop{}
	for _, r := range routes(f, f, fakeConfig(f, "")).Routes() {
		if r.Method == http.MethodHead {
			continue // the same as GET, by HTTP itself
		}
		served = append(served, r.Method+" "+ginParam.ReplaceAllString(r.Path, "{$1}"))
	}
	for path, item := range loadOpenAPI(t).Paths.Map() {
		for method := range item.Operations() {
			documented = append(documented, method+" "+path)
		}
	}
	assert.ElementsMatch(t, served, documented)
}

func TestEveryProblemIsDocumentedWithItsStatus(t *testing.T) {
	schemas := loadOpenAPI(t).Components.Schemas
	for name, p := range problems {
		require.Contains(t, schemas, name)
		fixed := schemas[name].Value.Properties
		assert.Equal(t, []any{"/problems/" + name}, fixed["type"].Value.Enum, name)
		assert.Equal(t, []any{float64(p.Status)}, fixed["status"].Value.Enum, name)
		assert.NotEmpty(t, schemas[name].Value.Description, name)
	}
	for name, s := range schemas {
		if len(s.Value.AllOf) == 1 && s.Value.AllOf[0].Ref == "#/components/schemas/Problem" {
			assert.Contains(t, problems, name, "documented, but no such problem")
		}
	}
}

func TestEveryAnswerNamesProblemsOfItsStatus(t *testing.T) {
	// One is no answer; the others may be the answer of any path.
	named := map[string]bool{"client-gone": true, "method-not-allowed": true, "cross-origin": true, "misdirected": true}
	for path, item := range loadOpenAPI(t).Paths.Map() {
		for method, operation := range item.Operations() {
			for status, response := range operation.Responses.Map() {
				for _, name := range problemsIn(response.Value) {
					named[name] = true
					assert.Equal(t, status, fmt.Sprint(problems[name].Status), "%s of %s %s", name, method, path)
				}
			}
		}
	}
	for name := range problems {
		assert.Contains(t, named, name, "no answer is documented to have it")
	}
}

func problemsIn(r *openapi3.Response) (names []string) {
	media := r.Content.Get("application/problem+json")
	if media == nil {
		return nil
	}
	for _, s := range append(openapi3.SchemaRefs{media.Schema}, media.Schema.Value.OneOf...) {
		if s.Ref != "" {
			names = append(names, path.Base(s.Ref))
		}
	}
	return names
}

// Without --faults the document is valid, and does not offer the parameter fault.
func TestOpenAPIWithoutFaults(t *testing.T) {
	f := &fakeShop{}
	config := fakeConfig(f, "")
	config.Faults = nil
	h, c := New(f, f, config), newContract(t)
	for target, status := range map[string]int{"GET /faults": 404, "DELETE /faults/mine": 404} {
		assert.Equal(t, status, c.call(t, h, request(target, "")).Code, target)
	}
	assert.Equal(t, http.StatusMethodNotAllowed, serveTo(h, request("TRACE /faults", "")).Code)
	doc, err := openapi3.NewLoader().LoadFromData(serveTo(h, request("GET /openapi.yaml", "")).Body.Bytes())
	require.NoError(t, err)
	require.NoError(t, doc.Validate(t.Context()))
	sell := doc.Paths.Find("/{rung}/decrease").Post
	assert.NotNil(t, sell.Parameters.GetByInAndName("query", "trace"))
	assert.Nil(t, sell.Parameters.GetByInAndName("query", "fault"))
	assert.Nil(t, doc.Paths.Find("/{rung}/stock/{product}").Get.Parameters.GetByInAndName("query", "fault"))
	assert.NotContains(t, doc.Components.Schemas["Order"].Value.Properties, "fault")
}

// Every duration that the document allows is one that the service accepts, with its default bounds, and the other way
// round for those that people write.
func TestOpenAPIDurationsAreInBounds(t *testing.T) {
	schemas := loadOpenAPI(t).Components.Schemas
	for name, given := range map[string]struct{ valid, invalid string }{
		"Wait":     {"0 0s 1ns 10us 250ms 1.5s 59.9s 60s 1m 1m0s", "-1s 61s 1m1s 2m 1h s 5"},
		"Work":     {"0 0s 1ns 10us 250ms 1.5s 59.9s 60s 1m 1m0s", "-1s 61s 1m1s 2m 1h s 5"},
		"After":    {"0 0s 1ns 10us 250ms 1.5s 59.9s 60s 1m 1m0s", "-1s 61s 1m1s 2m 1h s 5"},
		"TTL":      {"10ms 250ms 0.5s 30s 90s 600s 1m30s 10m", "0 9ms 0s 601s 10m1s 11m 1h"},
		"StockTTL": {"1s 90m 1h 1h30m 24h 719h59m59s 720h 720h0m0s", "0 0s 250ms 720h1s 721h 1000h"},
	} {
		for _, text := range strings.Fields(given.valid) {
			assert.NoError(t, schemas[name].Value.VisitJSON(text), "%s: %s", name, text)
		}
		for _, text := range strings.Fields(given.invalid) {
			assert.Error(t, schemas[name].Value.VisitJSON(text), "%s: %s", name, text)
		}
	}
}

// The document refuses what the service refuses, as far as OpenAPI can express dependent parameters.
func TestOpenAPIRefusesWhatIsRefused(t *testing.T) {
	c, h := newContract(t), newFake(&fakeShop{}, "")
	for _, refused := range [][2]string{
		{"PUT /stock/10000", ""}, {"PUT /stock/10000", "{}"}, {"PUT /stock/10000", `{"ttl":"1h"}`},
		{"POST /v9/decrease", `{"items":[{"product":"a"}],"product":"b"}`},
		{"POST /v9/decrease", `{"items":[{"product":"a"}],"quantity":1}`},
	} {
		assert.Equal(t, http.StatusBadRequest, c.call(t, h, request(refused[0], refused[1])).Code, refused)
		input := c.input(t, request(refused[0], refused[1]))
		assert.Error(t, openapi3filter.ValidateRequest(t.Context(), input), refused)
	}
}

// The page fills in the example of a fault on every rung, on the route that sells and on the one that reads.
func TestOpenAPIFaultIsReachedByEveryOrder(t *testing.T) {
	example, _ := loadOpenAPI(t).Components.Schemas["Fault"].Value.Example.(string)
	faults, err := trace.ParseFaults(example)
	require.NoError(t, err)
	for _, r := range lock.Ladder() {
		for _, reads := range []bool{false, true} {
			assert.NoError(t, trace.Reached(faults, r.Commands(reads)), "%s, reads: %t", r.Number, reads)
		}
	}
}

// A contract checks the answers of a handler against the document.
type contract struct {
	doc    *openapi3.T
	router routers.Router
	seen   map[string]bool // the problems that were answered with
}

func newContract(t *testing.T) *contract {
	t.Helper()
	for _, text := range []string{"text/html", "text/css", "text/javascript"} {
		openapi3filter.RegisterBodyDecoder(text, openapi3filter.PlainBodyDecoder)
	}
	doc := loadOpenAPI(t)
	router, err := gorillamux.NewRouter(doc)
	require.NoError(t, err)
	return &contract{doc, router, map[string]bool{}}
}

// call sends a request and checks the answer: its status, its headers and its body, with no member that is not
// documented. What is served must be documented as allowed, too.
func (c *contract) call(t *testing.T, h http.Handler, r *http.Request) *httptest.ResponseRecorder {
	t.Helper()
	var sent bytes.Buffer
	r.Body = io.NopCloser(io.TeeReader(r.Body, &sent))
	answer := serveTo(h, r)
	c.note(t, answer)

	r.Body = io.NopCloser(&sent)
	request := c.input(t, r)
	if answer.Code < http.StatusMultipleChoices {
		require.NoError(t, openapi3filter.ValidateRequest(t.Context(), request))
	}
	response := &openapi3filter.ResponseValidationInput{RequestValidationInput: request, Status: answer.Code,
		Header: answer.Header(), Options: request.Options}
	response.SetBodyBytes(answer.Body.Bytes())
	require.NoError(t, openapi3filter.ValidateResponse(t.Context(), response), answer.Body)
	return answer
}

// input returns a request in the form that the validator takes.
func (c *contract) input(t *testing.T, r *http.Request) *openapi3filter.RequestValidationInput {
	t.Helper()
	route, params, err := c.router.FindRoute(r)
	require.NoError(t, err, "%s %s", r.Method, r.URL)
	return &openapi3filter.RequestValidationInput{Request: r, PathParams: params, Route: route,
		Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc,
			IncludeResponseStatus: true}}
}

// note records a problem, and checks its body against the schema of its type. Nothing else can be checked for paths and
// methods that are not documented.
func (c *contract) note(t *testing.T, answer *httptest.ResponseRecorder) {
	t.Helper()
	if answer.Header().Get("Content-Type") != "application/problem+json" {
		return
	}
	var body map[string]any
	require.NoError(t, json.Unmarshal(answer.Body.Bytes(), &body))
	name := strings.TrimPrefix(fmt.Sprint(body["type"]), "/problems/")
	require.Contains(t, c.doc.Components.Schemas, name)
	require.NoError(t, c.doc.Components.Schemas[name].Value.VisitJSON(body))
	require.EqualValues(t, answer.Code, body["status"])
	c.seen[name] = true
}

// request returns a request for a target such as "GET /rungs".
func request(target, body string) *http.Request {
	method, path, _ := strings.Cut(target, " ")
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	return r
}

// fakeShop answers all orders and administrative requests with one error, unless a test sets another behaviour.
type fakeShop struct {
	receipt    sale.Receipt
	err        error
	closed     bool
	sell       func(context.Context, sale.Order) (sale.Receipt, error)
	breakLocks func(context.Context) error
}

func (f *fakeShop) Decrease(ctx context.Context, _ string, o sale.Order) (sale.Receipt, error) {
	if f.sell != nil {
		return f.sell(ctx, o)
	}
	if errors.Is(f.err, errPanic) {
		panic(f.err)
	}
	return f.receipt, f.err
}
func (f *fakeShop) Read(context.Context, string, sale.Order) (sale.Receipt, error) {
	return f.receipt, f.err
}
func (*fakeShop) Commands(string, bool) ([]string, error) {
	return []string{"get/stock", "set/stock"}, nil
}
func (f *fakeShop) BreakLocks(ctx context.Context, _ string) (int64, error) {
	if f.breakLocks != nil {
		return 0, f.breakLocks(ctx)
	}
	return 0, f.err
}

func (f *fakeShop) Rungs() []sale.Status                                       { return nil }
func (f *fakeShop) Closed() bool                                               { return f.closed }
func (f *fakeShop) Left(context.Context, string) (int64, error)                { return 0, f.err }
func (f *fakeShop) PutFor(context.Context, string, int64, time.Duration) error { return f.err }
func (f *fakeShop) Remove(context.Context, string) error                       { return f.err }
func (f *fakeShop) ready(context.Context) error                                { return f.err }

var errPanic = errors.New("a handler's fault")

func newFake(f *fakeShop, token string) http.Handler {
	return New(f, f, fakeConfig(f, token))
}

func fakeConfig(f *fakeShop, token string) Config {
	return Config{Instance: "a", Bounds: testBounds(), AdminToken: token, Ready: f.ready,
		Hosts: Hosts{Names: []string{"example.com"}}, Faults: new(trace.Injector), Orders: 10,
		Metrics: sale.NewMetrics("a"), Log: slog.New(slog.DiscardHandler)}
}

func testBounds() Bounds {
	return Bounds{MaxWork: time.Minute, MaxTTL: time.Minute, MaxWait: time.Minute, MaxQuantity: 1000,
		DefaultTTL: 30 * time.Second}
}

func TestProblemsAreAsDocumented(t *testing.T) {
	c := newContract(t)
	now := time.Now()
	known := sale.Receipt{Rung: "v4", Product: "10000", Quantity: 1, Instance: "a", Order: "mine",
		Lease: &sale.Lease{Token: "t", AcquiredAt: now, ReleasedAt: now, Lost: true},
		Trace: []trace.Event{{Node: "127.0.0.1:1", Cmd: "set", Key: "k", At: now, End: now, Err: "timeout"}}}

	for name, err := range map[string]error{
		"draining": sale.ErrDraining, "no-such-rung": sale.ErrNoRung, "rung-unavailable": sale.ErrUnavailable,
		"outcome-unknown": stock.ErrUnknown, "no-such-product": stock.ErrNoProduct, "sold-out": stock.ErrSoldOut,
		"stock-corrupt": stock.ErrCorrupt, "lock-corrupt": lock.ErrForeign, "lock-busy": lock.ErrBusy,
		"lease-lost":   lock.ErrLost,
		"backend-away": io.ErrUnexpectedEOF, "lease-exhausted": lock.ErrExhausted, "fence-stale": stock.ErrStale,
		"internal": errPanic,
	} {
		h := newFake(&fakeShop{receipt: known, err: fmt.Errorf("in a test: %w", err)}, "")
		answer := c.call(t, h, request("POST /v4/decrease", ""))
		assert.Contains(t, answer.Body.String(), `"/problems/`+name+`"`)
	}
	h := newFake(&fakeShop{}, "secret")
	for _, r := range []*http.Request{
		request("POST /v4/decrease?quantity=0", ""),
		request("POST /v4/decrease?quantity=1&quantity=2", ""),
		request("POST /v4/decrease?colour=red", ""),
		request("POST /v4/decrease?wait=1h", ""),
		request("POST /v7/decrease?renew=never", ""),
		request("POST /v11/decrease?permits=0", ""),
		request("POST /v11/decrease?permits=101", ""),
		request("POST /v4/decrease", `{"quantity":`),
		httptest.NewRequest(http.MethodPost, "/v4/decrease", iotest.ErrReader(io.ErrUnexpectedEOF)),
		request("GET /stock/%20", ""),
		request("POST /v9/decrease?items=", ""),
		request("POST /v9/decrease?items=10000,10000", ""),
		request("POST /v9/decrease", `{"items":[]}`),
		request("GET /v10/stock/%20", ""),
		request("GET /v10/stock/10000?quantity=1", ""),
	} {
		assert.Equal(t, http.StatusBadRequest, c.call(t, h, r).Code, r.URL)
	}
	for _, r := range []*http.Request{
		request("PUT /stock/10000?quantity=1", ""), request("DELETE /stock/10000", ""), request("DELETE /locks/10000", ""),
	} {
		assert.Equal(t, http.StatusUnauthorized, c.call(t, h, r).Code, r.URL)
	}
	h = newFake(&fakeShop{}, "")
	for _, r := range []*http.Request{
		request("GET /stock/10000?x=1", ""), request("GET /rungs?x=1", ""), request("GET /faults?x=1", ""),
		request("POST /v4/decrease?quantity=none", `{"quantity":1}`), request("POST /v4/decrease?wait=1h",
			`{"wait":"1s"}`),
		request("POST /v4/decrease?fault=none", `{"fault":"hold@before:set"}`), request("POST /v9/decrease?items=,",
			`{"items":[{"product":"a"}]}`),
	} {
		assert.Equal(t, http.StatusBadRequest, c.call(t, h, r).Code, r.URL)
	}
	zipped := request("POST /v4/decrease", "{}")
	zipped.Header.Set("Content-Encoding", "gzip")
	assert.Equal(t, http.StatusUnsupportedMediaType, c.call(t, h, zipped).Code)
	c.call(t, h, request("POST /v4/decrease", strings.Repeat(" ", maxBody+1)))
	c.call(t, h, request("GET /problems/none", ""))
	c.call(t, newFake(&fakeShop{}, ""), request("DELETE /faults/none", ""))
	c.call(t, newFake(&fakeShop{}, ""), request("GET /orders/none", ""))
	assert.Equal(t, http.StatusOK, c.call(t, newFake(&fakeShop{}, ""), request("GET /faults", "")).Code)
	c.call(t, newFake(&fakeShop{closed: true}, ""), request("GET /readyz", ""))

	answer := serveTo(h, request("GET /v4/decrease", ""))
	c.note(t, answer)
	assert.Equal(t, http.StatusMethodNotAllowed, answer.Code)
	assert.Equal(t, "POST", answer.Header().Get("Allow"))

	for header, value := range map[string]string{"Sec-Fetch-Site": "cross-site", "Host": "attacker.example"} {
		r, answer := request("POST /v4/decrease", ""), httptest.NewRecorder()
		r.Header.Set(header, value)
		r.Host = cmp.Or(r.Header.Get("Host"), r.Host)
		h.ServeHTTP(answer, r)
		c.note(t, answer)
	}
	for name := range problems {
		assert.True(t, c.seen[name] || name == "client-gone", "%s was not provoked", name)
	}
}

// An order that was served under another's lease names that order instead of a lease of its own, whatever its outcome.
func TestAnswersNameTheOrderThatSoldForThem(t *testing.T) {
	c := newContract(t)
	for status, err := range map[int]error{200: nil, 409: stock.ErrSoldOut, 500: stock.ErrUnknown, 503: lock.ErrLost} {
		served := sale.Receipt{Rung: "v19", Product: "10000", Quantity: 1, Left: 2, Units: []int64{3}, Instance: "a",
			Order: "mine", SoldBy: "the-first"}
		answer := c.call(t, newFake(&fakeShop{receipt: served, err: err}, ""), request("POST /v19/decrease", ""))
		assert.Equal(t, status, answer.Code)
		assert.Contains(t, answer.Body.String(), `"sold_by":"the-first"`, status)
		assert.NotContains(t, answer.Body.String(), `"lease":`, status)
	}
}

func TestAdministrationsProblemsAreAsDocumented(t *testing.T) {
	c := newContract(t)
	h := newFake(&fakeShop{err: io.ErrUnexpectedEOF}, "secret")
	for _, target := range []string{"GET /stock/10000", "PUT /stock/10000?quantity=1", "DELETE /stock/10000",
		"DELETE /locks/10000"} {
		r := request(target, "")
		r.Header.Set("Authorization", "Bearer secret")
		assert.Equal(t, http.StatusServiceUnavailable, c.call(t, h, r).Code, target)
	}
	for _, err := range []error{stock.ErrNoProduct, stock.ErrCorrupt} {
		c.call(t, newFake(&fakeShop{err: err}, ""), request("GET /stock/10000", ""))
	}
	r := request("PUT /stock/10000", strings.Repeat(" ", maxBody+1))
	assert.Equal(t, http.StatusRequestEntityTooLarge, c.call(t, newFake(&fakeShop{}, ""), r).Code)
}

// embeddedShop is the real thing, on an embedded Redis.
func embeddedShop(t testing.TB) (h http.Handler, inside *backend.Embedded) {
	t.Helper()
	inside, err := backend.StartEmbedded("127.0.0.1:0")
	require.NoError(t, err)
	rdb, err := backend.Open(inside.URL(), backend.Options{Timeout: time.Second, PoolSize: 8})
	require.NoError(t, err)
	t.Cleanup(func() { _ = rdb.Close() })
	rdb.AddHook(trace.Observer{Names: lock.ScriptNames()}.Redis(inside.Addr()))

	m, log := sale.NewMetrics("a"), slog.New(slog.DiscardHandler)
	life, end := context.WithCancel(context.Background())
	locks := lock.Backends{Redis: rdb, Redlock: []redis.UniversalClient{rdb},
		SQL: backendtest.OpenSQL(t, backendtest.SQLiteFile(t)), Commands: lock.AskCommands(t.Context(), rdb, "10000"),
		Process: lock.Process{Life: life, Background: new(sync.WaitGroup)}}
	t.Cleanup(func() {
		end()
		locks.Background.Wait()
	})
	shelf := stock.NewShelf(rdb)
	shop := sale.New("a", lock.Ladder(), shelf, locks, m, log)
	return New(shop, sale.Admin{Shelf: shelf, Locks: locks}, Config{Instance: "a", Bounds: testBounds(), Metrics: m,
		Log: log, Hosts: Hosts{Names: []string{"example.com"}}, Orders: 10,
		Ready: func(ctx context.Context) error { return backend.Ping(ctx, rdb) }}), inside
}

func TestRealAnswersAreAsDocumented(t *testing.T) {
	c := newContract(t)
	h, inside := embeddedShop(t)
	call := func(status int, method, target, body string) *httptest.ResponseRecorder {
		t.Helper()
		answer := c.call(t, h, request(method+" "+target, body))
		require.Equal(t, status, answer.Code, "%s %s: %s", method, target, answer.Body)
		return answer
	}
	for _, r := range lock.Ladder() {
		if slices.Contains(r.Needs, lock.NeedZooKeeper) || slices.Contains(r.Needs, lock.NeedSQLServer) {
			call(503, "POST", "/"+r.Number+"/decrease", "")
			continue
		}
		assert.Contains(t, call(200, "PUT", "/stock/10000", `{"quantity":3,"ttl":"1h"}`).Body.String(), `"ttl":"1h0m0s"`)
		call(200, "POST", "/"+r.Number+"/decrease?trace=true", `{"quantity":2,"work":"1ms","wait":"50ms","ttl":"30s"}`)
		call(409, "POST", "/"+r.Name+"/decrease?quantity=2&trace=true", "")
		call(200, "DELETE", "/locks/10000", "") // what v5-as-printed left behind
	}
	call(200, "PUT", "/stock/10000", `{"quantity":3}`)
	call(200, "PUT", "/stock/10001", `{"quantity":3}`)
	call(200, "POST", "/v9/decrease?items=10001:2,10000&wait=0s", "")
	answer := call(200, "POST", "/v9/decrease", `{"items":[{"product":"10000","quantity":2},{"product":"10001"}]}`)
	assert.Contains(t, answer.Body.String(), `{"product":"10001","quantity":1,"left":0,"units":[1]}`)
	assert.Contains(t, call(409, "POST", "/v9/decrease?items=10000,10001", "").Body.String(), "0 left of 10000")
	assert.Contains(t, call(404, "POST", "/v9/decrease?items=10002", "").Body.String(), "no such product: 10002")
	assert.Contains(t, call(400, "POST", "/v4/decrease?items=10000", "").Body.String(), "v4 takes no items")
	call(200, "PUT", "/stock/10000", `{"quantity":3}`)
	assert.Contains(t, call(200, "GET", "/v10/stock/10000?work=1ms&ttl=1s&trace=true", "").Body.String(), `"left":3`)
	assert.Contains(t, call(400, "GET", "/readwrite/stock/10000?nested=true", "").Body.String(),
		"a reader cannot become a writer")
	call(404, "GET", "/v4/stock/10000", "")
	call(404, "GET", "/v10/stock/none", "")
	named := request("POST /v4/decrease", "")
	named.Header.Set("X-Request-ID", "order-7")
	assert.Contains(t, c.call(t, h, named).Body.String(), `"order":"order-7"`)
	assert.JSONEq(t,
		`{"order":"order-7","outcome":"sold","product":"10000","quantity":1,"units":[3],"left":2,"instance":"a"}`,
		call(200, "GET", "/orders/order-7", "").Body.String())
	require.NoError(t, inside.Server().Set("DistributedLock_10000", "another's"))
	call(423, "POST", "/v4/decrease", "")
	call(404, "POST", "/v99/decrease", "")
	assert.JSONEq(t, `{"product":"short","quantity":3,"ttl":"1h0m0s"}`,
		call(200, "PUT", "/stock/short", `{"quantity":3,"ttl":"1h"}`).Body.String())
	call(400, "PUT", "/stock/short?quantity=3&ttl=721h", "")
	call(400, "PUT", "/stock/short", `{"quantity":3,"ttl":"0s"}`)
	call(200, "GET", "/stock/10000", "")
	call(204, "DELETE", "/stock/10000", "")
	call(404, "POST", "/v0/decrease", "")
	require.NoError(t, inside.Server().Set(stock.Key("10000"), "many"))
	call(502, "POST", "/v0/decrease", "")
	for _, path := range []string{"/rungs", "/livez", "/readyz", "/metrics", "/openapi.yaml", "/docs"} {
		call(200, "GET", path, "")
	}
	call(302, "GET", "/", "")
	assert.Equal(t, "/docs#model-sold-out", call(302, "GET", "/problems/sold-out", "").Header().Get("Location"))
	inside.Close()
	for _, target := range []string{"POST /v4/decrease", "POST /v6/decrease?wait=0s", "GET /stock/10000"} {
		method, path, _ := strings.Cut(target, " ")
		call(503, method, path, "")
	}
	require.Eventually(t, func() bool { return c.call(t, h, request("GET /readyz", "")).Code == 503 },
		10*time.Second, 10*time.Millisecond, "its last answer is cached for a moment")
}
