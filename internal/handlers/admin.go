package handlers

import (
	"context"
	"crypto/subtle"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"stockapi/internal/sale"
)

type stockBody struct {
	Product  string `json:"product"`
	Quantity int64  `json:"quantity"`
	TTL      string `json:"ttl,omitempty"` // as given by PUT; empty: none, or the answer to a GET
}

// requireToken refuses a request without the admin token, if the instance has one.
func (s *server) requireToken(c *gin.Context) {
	if !s.mayAdminister(c) {
		s.failAdmin(c, errUnauthorized)
	}
}

// mayAdminister reports whether a request has the admin token, or none is needed.
func (s *server) mayAdminister(c *gin.Context) bool {
	scheme, given, _ := strings.Cut(c.GetHeader("Authorization"), " ")
	return s.AdminToken == "" || strings.EqualFold(scheme, "Bearer") &&
		subtle.ConstantTimeCompare([]byte(given), []byte(s.AdminToken)) == 1
}

// onProduct runs an action on the product in the path, and sends its result or its problem.
func (s *server) onProduct(c *gin.Context, act func(ctx context.Context, product string) (any, error)) {
	product := c.Param("product")
	err := checkProduct(product)
	var result any
	if err == nil {
		ctx, cancel := withoutCancel(c)
		defer cancel()
		result, err = act(ctx, product)
		err = withClientGone(c.Request.Context(), err)
	}
	switch {
	case err != nil:
		s.failAdmin(c, err)
	case result == nil:
		c.Status(http.StatusNoContent)
	default:
		sendJSON(c, http.StatusOK, result)
	}
}

func (s *server) getStock(c *gin.Context) {
	s.onProduct(c, func(ctx context.Context, product string) (any, error) {
		left, err := s.admin.Left(ctx, product)
		return stockBody{Product: product, Quantity: left}, err
	})
}

func (s *server) putStock(c *gin.Context) {
	s.onProduct(c, func(ctx context.Context, product string) (any, error) {
		l, err := readParams(c.Request, "quantity", "ttl")
		if err != nil {
			return nil, err
		}
		quantity, ttl := int64(-1), time.Duration(0)
		for _, p := range l {
			if err := errors.Join(p.integer("quantity", &quantity, 0, MaxStock),
				p.duration("ttl", &ttl, minStockTTL, MaxStockTTL)); err != nil {
				return nil, err
			}
		}
		if quantity < 0 {
			return nil, badInput("quantity is missing")
		}
		put := stockBody{Product: product, Quantity: quantity}
		if ttl > 0 {
			put.TTL = ttl.String()
		}
		return put, s.admin.PutFor(ctx, product, quantity, ttl)
	})
}

func (s *server) removeStock(c *gin.Context) {
	s.onProduct(c, func(ctx context.Context, product string) (any, error) {
		return nil, s.admin.Remove(ctx, product)
	})
}

func (s *server) breakLocks(c *gin.Context) {
	s.onProduct(c, func(ctx context.Context, product string) (any, error) {
		removed, err := s.admin.BreakLocks(ctx, product)
		if err == nil {
			s.Log.Warn("locks broken", "product", product, "removed", removed)
		}
		return gin.H{"product": product, "removed": removed}, err
	})
}

// rungs serves GET /rungs.
func (s *server) rungs(c *gin.Context) {
	list := s.shop.Rungs()
	for i := range list {
		if s.Bounds.DefaultWait != nil {
			list[i].Wait = s.Bounds.DefaultWait.String()
		}
	}
	sendJSON(c, http.StatusOK, gin.H{
		"instance": s.Instance, "clock": s.Clock, "now": time.Now(), "build": s.Build, "rungs": list,
	})
}

// livez serves GET /livez: the process runs. It asks no backend, because a restart would not repair one.
func (s *server) livez(c *gin.Context) { c.String(http.StatusOK, "alive\n") }

// readyz serves GET /readyz: whether this instance can sell now.
func (s *server) readyz(c *gin.Context) {
	if s.shop.Closed() {
		s.failPlain(c, "draining", sale.ErrDraining.Error())
		return
	}
	if err := s.ready.ask(c.Request.Context()); err != nil {
		s.failAdmin(c, err)
		return
	}
	c.String(http.StatusOK, "ready\n")
}
