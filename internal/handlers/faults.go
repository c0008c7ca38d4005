package handlers

import (
	"context"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"stockapi/internal/trace"
)

// withFaults returns a context that carries the faults of an order, and the order's name, by which a held order is
// released. Faults need the admin token if there is one: a fault can hold a lock for minutes.
func (s *server) withFaults(c *gin.Context, l layers, id string) (context.Context, error) {
	ctx := c.Request.Context()
	for _, p := range l {
		text, ok := p["fault"]
		if !ok {
			continue
		}
		if s.Faults == nil {
			return ctx, errNoFaults
		}
		if !s.mayAdminister(c) {
			return ctx, errUnauthorized
		}
		faults, err := trace.ParseFaults(text)
		if err != nil {
			return ctx, badInput("%w", err)
		}
		commands, err := s.shop.Commands(c.Param("rung"), c.Request.Method != http.MethodPost)
		if err != nil {
			return ctx, err
		}
		if err := trace.Reached(faults, commands); err != nil {
			return ctx, badInput("%w", err)
		}
		ctx = trace.WithFaults(ctx, id, faults) // the last one, from the body, takes effect
	}
	return ctx, nil
}

// errNoFaults means that the instance injects no faults.
var errNoFaults = badInput("faults are off: start this instance with --faults")

// withFaultsOnly refuses a request if the instance was started without --faults.
func (s *server) withFaultsOnly(c *gin.Context) {
	if s.Faults == nil {
		s.failPlain(c, "no-such-route", "start the instance with --faults")
	}
}

// heldOrders serves GET /faults: the orders that a fault holds.
func (s *server) heldOrders(c *gin.Context) {
	sendJSON(c, http.StatusOK, gin.H{"instance": s.Instance, "held": s.Faults.Held()})
}

// maxAfter bounds the time after which a released order goes on.
const maxAfter = time.Minute

// releaseOrder serves DELETE /faults/{order}: it releases a held order, which goes on after a time. Of several orders
// with that name it releases the one that was held first.
func (s *server) releaseOrder(c *gin.Context) {
	after := time.Duration(0)
	p, err := readQuery(c.Request, "after")
	if err == nil {
		err = p.duration("after", &after, 0, maxAfter)
	}
	if err != nil {
		s.failAdmin(c, err)
		return
	}
	if !s.Faults.Release(c.Param("order"), after) {
		s.failPlain(c, "no-such-order", "no fault holds that order")
		return
	}
	c.Status(http.StatusNoContent)
}
