// Package handlers serves the shop over HTTP: it reads requests, passes orders to a [Shop], and turns receipts and
// errors into answers. It does not know which lock runs.
//
// Read [New] for the routes, decrease.go for the one that sells, guard.go for the checks before it, params.go for the
// parameters, and problem.go, which turns an error into a status. openapi.yaml documents all of it for clients.
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

	"stockapi/internal/sale"
	"stockapi/internal/trace"
)

// A Shop serves orders.
type Shop interface {
	Decrease(ctx context.Context, rung string, o sale.Order) (sale.Receipt, error)
	Read(ctx context.Context, rung string, o sale.Order) (sale.Receipt, error)
	Rungs() []sale.Status
	Commands(rung string, reads bool) ([]string, error) // that an order may send
	Closed() bool                                       // whether the instance is shutting down
}

// An Admin serves the administrative routes.
type Admin interface {
	Left(ctx context.Context, product string) (int64, error)
	PutFor(ctx context.Context, product string, quantity int64, ttl time.Duration) error
	Remove(ctx context.Context, product string) error
	BreakLocks(ctx context.Context, product string) (int64, error)
}

// Config holds the settings of an instance that the handlers need.
type Config struct {
	Instance   string
	Clock      string // identifies the clock that times are read from
	Build      string // the version of this executable
	Bounds     Bounds
	Hosts      Hosts                       // allowed values of the header Host
	AdminToken string                      // empty: the administrative routes are open
	Orders     int                         // how many outcomes of past orders to keep; 0: GET /orders is not served
	Faults     *trace.Injector             // nil: faults are off
	Ready      func(context.Context) error // returns nil if the backends can serve an order
	Metrics    *sale.Metrics
	Log        *slog.Logger
}

var errUnauthorized = errors.New("this needs the header Authorization: Bearer with the admin token")

type server struct {
	Config
	shop    Shop
	admin   Admin
	origins *http.CrossOriginProtection
	ready   readiness
	orders  *outcomes // nil: none are kept

	// sell is the shop's Decrease. It records outcomes in orders.
	sell func(ctx context.Context, rung string, o sale.Order) (sale.Receipt, error)
}

// New returns the handler of an instance.
func New(shop Shop, admin Admin, c Config) http.Handler {
	return withWriteDeadline(routes(shop, admin, c), shop.Closed)
}

// routes returns the routes, with the checks that every request passes first.
func routes(shop Shop, admin Admin, c Config) *gin.Engine {
	s := &server{Config: c, shop: shop, admin: admin, origins: http.NewCrossOriginProtection(),
		ready: readiness{check: c.Ready}, orders: newOutcomes(c.Orders)}
	s.sell = s.recordOutcome(shop.Decrease)
	gin.SetMode(gin.ReleaseMode)
	r := gin.New()
	r.HandleMethodNotAllowed = true
	r.RedirectTrailingSlash = false // or an order would be redirected instead of refused
	r.Use(s.headers, gin.CustomRecoveryWithWriter(nil, s.answerPanic), s.checkHost, s.checkOrigin, s.bufferBody)
	r.NoRoute(func(c *gin.Context) {
		s.failPlain(c, "no-such-route", "see /docs: POST /{rung}/decrease sells, GET /rungs lists the rungs")
	})
	r.NoMethod(func(c *gin.Context) { s.failPlain(c, "method-not-allowed", "use "+c.Writer.Header().Get("Allow")) })

	r.POST("/:rung/decrease", s.decrease)
	get(r, "/:rung/stock/:product", s.read)
	get(r, "/rungs", s.noParams, s.rungs)
	get(r, "/stock/:product", s.noParams, s.getStock)
	r.PUT("/stock/:product", s.requireToken, s.putStock)
	r.DELETE("/stock/:product", s.requireToken, s.noParams, s.removeStock)
	r.DELETE("/locks/:product", s.requireToken, s.noParams, s.breakLocks)
	get(r, "/livez", s.livez)
	get(r, "/readyz", s.readyz)
	get(r, "/metrics", gin.WrapH(promhttp.HandlerFor(c.Metrics.Registry, promhttp.HandlerOpts{})))
	get(r, "/openapi.yaml", s.openapi)
	get(r, "/docs", s.docs)
	get(r, "/docs/:file", s.docsFile)
	get(r, "/problems/:name", s.problem)
	get(r, "/", func(c *gin.Context) { c.Redirect(http.StatusFound, "/docs") })
	if s.orders != nil {
		get(r, "/orders/:order", s.noParams, s.order)
	}
	get(r, "/faults", s.withFaultsOnly, s.requireToken, s.noParams, s.heldOrders)
	r.DELETE("/faults/:order", s.withFaultsOnly, s.requireToken, s.releaseOrder)
	return r
}

// answerPanic sends a problem for a handler that panicked. What the handler had done by then is unknown.
func (s *server) answerPanic(c *gin.Context, reason any) {
	if reason == http.ErrAbortHandler { //nolint:errorlint // a panic's value, not a wrapped error
		panic(reason)
	}
	s.Log.Error("panic", "path", c.Request.URL.Path, "reason", fmt.Sprint(reason))
	p := problems["internal"]
	p.Detail = detail("internal", nil)
	s.send(c, "internal", p)
}

// failPlain sends a problem that is not about an order.
func (s *server) failPlain(c *gin.Context, name, detail string) {
	p := problems[name]
	p.Detail = detail
	s.send(c, name, p)
	s.logProblem(c, name, p, nil)
}

// logProblem logs a problem: one that is normal in a shop at level debug, a failure of the service at level error.
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
