package handlers

import (
	"context"
	"net/http"
	"slices"

	"github.com/gin-gonic/gin"

	"stockapi/internal/fault"
)

// readParams returns the parameters that a reading knows: those of a decrease, but for what is sold, and how many may.
func (s *server) readParams() []string {
	return slices.DeleteFunc(s.orderParams(), func(name string) bool {
		return name == "product" || name == "quantity" || name == "permits"
	})
}

// orderParams returns the parameters that a decrease knows. Without faults, fault is an unknown one.
func (s *server) orderParams() []string {
	known := []string{"product", "quantity", "items", "wait", "ttl", "work", "caller", "nested", "permits", "trace"}
	if s.Faults != nil {
		known = append(known, "fault")
	}
	return known
}

// withFaults returns a context that carries the faults an order asks for, and the name to let it go on by. Where there is
// an admin token they take that: a fault can end the process.
func (s *server) withFaults(c *gin.Context, overridden, p params, id string) (context.Context, error) {
	ctx := c.Request.Context()
	for _, given := range []params{overridden, p} {
		text, ok := given["fault"]
		if !ok {
			continue
		}
		if !s.mayAdminister(c) {
			return ctx, errUnauthorized
		}
		faults, err := fault.Parse(text)
		if err != nil {
			return ctx, badInput("%w", err)
		}
		ctx = fault.With(ctx, id, faults) // the later one counts
	}
	return ctx, nil
}

// heldOrders serves GET /faults: the orders that a fault holds at a point.
func (s *server) heldOrders(c *gin.Context) {
	c.JSON(http.StatusOK, gin.H{"instance": s.Instance, "held": s.Faults.Held()})
}

// releaseOrder serves DELETE /faults/{order}: it lets one of them go on, of several with that name the one held longest.
func (s *server) releaseOrder(c *gin.Context) {
	if !s.Faults.Release(c.Param("order")) {
		s.plain(c, "no-such-order", "no fault holds that order")
		return
	}
	c.Status(http.StatusNoContent)
}
