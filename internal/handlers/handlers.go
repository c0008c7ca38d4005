// Package handlers is the HTTP side of the shop: it reads requests, hands orders to whatever sells, and turns what came
// of them into answers. It does not know which lock runs.
//
// Read [New] for the routes, decrease.go for the one that matters, guard.go for what comes before it, params.go for what a client may send, and
// problem.go for the one place where an error becomes a status. openapi.yaml says all of it to clients.
package handlers

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"stockapi/internal/fault"
	"stockapi/internal/metrics"
	"stockapi/internal/sale"
)

// A Shop is what the handlers serve.
type Shop interface {
	Decrease(ctx context.Context, rung string, o sale.Order) (sale.Receipt, error)
	Read(ctx context.Context, rung string, o sale.Order) (sale.Receipt, error)
	Rungs() []sale.Status
	Closed() bool // whether the instance is shutting down
}

// Admin is what the administrative routes act on.
type Admin interface {
	Left(ctx context.Context, product string) (int64, error)
	PutFor(ctx context.Context, product string, quantity int64, ttl time.Duration) error
	Remove(ctx context.Context, product string) error
	BreakLocks(ctx context.Context, product string) (int64, error)
}

// Config is what the handlers need to know of their instance.
type Config struct {
	Instance   string
	Clock      string // names the clock that this machine's times are read from
	Build      string // names the build of this executable
	Bounds     Bounds
	Hosts      Hosts                       // what requests may call the instance
	AdminToken string                      // empty: the administrative routes are open
	Orders     int                         // how many orders it remembers that are over; 0: GET /orders is not served
	Faults     *fault.Injector             // nil: no client can ask for a fault
	Ready      func(context.Context) error // nil when the backends answer
	Metrics    *metrics.Metrics
	Log        *slog.Logger
}

var errUnauthorized = errors.New("this needs the header Authorization: Bearer with the admin token")

type server struct {
	Config
	shop    Shop
	admin   Admin
	origins *http.CrossOriginProtection
	ready   readiness
	orders  *memory // nil: none is remembered
}

// New returns the handler of an instance.
func New(shop Shop, admin Admin, c Config) http.Handler {
	return inTime(routes(shop, admin, c), shop.Closed)
}

// routes returns the routes, and what every request has to pass before it gets to one.
func routes(shop Shop, admin Admin, c Config) *gin.Engine {
	s := &server{Config: c, shop: shop, admin: admin, origins: http.NewCrossOriginProtection(),
		ready: readiness{check: c.Ready}, orders: newMemory(c.Orders)}
	gin.SetMode(gin.ReleaseMode)
	r := gin.New()
	r.HandleMethodNotAllowed = true
	r.RedirectTrailingSlash = false // it would send an order's client elsewhere, to a path that differs by a slash
	r.Use(s.headers, gin.CustomRecoveryWithWriter(nil, s.recovered), s.forUs, s.sameOrigin, s.takeBody)
	r.NoRoute(func(c *gin.Context) { s.plain(c, "no-such-route", "see /docs") })
	r.NoMethod(func(c *gin.Context) { s.plain(c, "method-not-allowed", "see /docs") })

	r.POST("/:rung/decrease", s.decrease)
	get(r, "/:rung/stock/:product", s.read)
	get(r, "/rungs", s.strict, s.rungs)
	get(r, "/stock/:product", s.strict, s.getStock)
	r.PUT("/stock/:product", s.authorized, s.putStock)
	r.DELETE("/stock/:product", s.authorized, s.strict, s.removeStock)
	r.DELETE("/locks/:product", s.authorized, s.strict, s.breakLocks)
	get(r, "/livez", s.livez)
	get(r, "/readyz", s.readyz)
	get(r, "/metrics", gin.WrapH(promhttp.HandlerFor(c.Metrics.Registry, promhttp.HandlerOpts{})))
	get(r, "/openapi.yaml", s.openapi)
	get(r, "/docs", s.docs)
	get(r, "/problems/:name", s.problem)
	get(r, "/", func(c *gin.Context) { c.Redirect(http.StatusFound, "/docs") })
	if s.orders != nil {
		get(r, "/orders/:order", s.strict, s.order)
	}
	if c.Faults != nil {
		get(r, "/faults", s.authorized, s.strict, s.heldOrders)
		r.DELETE("/faults/:order", s.authorized, s.strict, s.releaseOrder)
	}
	return r
}

// recovered answers for a handler that panicked. What it had done by then nobody knows.
func (s *server) recovered(c *gin.Context, reason any) {
	if reason == http.ErrAbortHandler { //nolint:errorlint // a panic's value, not a wrapped error
		panic(reason)
	}
	s.Log.Error("panic", "path", c.Request.URL.Path, "reason", fmt.Sprint(reason))
	p := problems["internal"]
	p.Detail = detail("internal", nil)
	s.send(c, "internal", p)
}

// plain answers with a problem that has nothing to do with an order.
func (s *server) plain(c *gin.Context, name, detail string) {
	p := problems[name]
	p.Detail = detail
	s.send(c, name, p)
	s.logProblem(c, name, p, nil)
}

// logProblem writes one line for a problem that matters: all but the everyday answers of a shop.
func (s *server) logProblem(c *gin.Context, name string, p Problem, err error) {
	level := slog.LevelInfo
	switch {
	case name == "sold-out" || name == "lock-busy":
		level = slog.LevelDebug
	case p.Status >= http.StatusInternalServerError:
		level = slog.LevelError
	}
	attrs := []any{"status", p.Status, "method", c.Request.Method, "path", c.Request.URL.Path}
	if p.Order != "" {
		attrs = append(attrs, "order", p.Order)
	}
	if err != nil {
		attrs = append(attrs, "err", err)
	}
	s.Log.Log(context.Background(), level, name, attrs...)
}
