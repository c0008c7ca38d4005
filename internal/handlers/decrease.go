package handlers

import (
	"errors"
	"net/http"

	"github.com/gin-gonic/gin"

	"stockapi/internal/sale"
)

// outcomeKey is where a handler leaves the name of the problem that it answered with.
const outcomeKey = "outcome"

// decrease serves POST /{rung}/decrease: it sells.
func (s *server) decrease(c *gin.Context) {
	receipt, err := s.sell(c)
	switch {
	case err != nil:
		s.fail(c, err, receipt)
	default:
		c.JSON(http.StatusOK, receipt)
	}
	outcome := c.GetString(outcomeKey)
	if outcome == "" {
		outcome = "sold"
	}
	if receipt.Rung != "" { // not a name that a client made up
		s.Metrics.Sales.WithLabelValues(receipt.Rung, outcome).Inc()
	}
}

func (s *server) sell(c *gin.Context) (sale.Receipt, error) {
	id, err := orderID(c)
	if err != nil {
		return sale.Receipt{}, err
	}
	p, err := readParams(c.Request, s.orderParams()...)
	bodyRead(c)
	if err != nil {
		return sale.Receipt{Order: id}, err
	}
	order, err := s.Bounds.order(p)
	order.ID = id
	if err != nil {
		return sale.Receipt{Order: id}, err
	}
	ctx, err := s.withFaults(c.Request.Context(), p, &order)
	if err != nil {
		return sale.Receipt{Order: id}, err
	}
	receipt, err := s.shop.Decrease(ctx, c.Param("rung"), order)
	if err != nil && ctx.Err() != nil {
		// Whatever it failed on, nobody waits for the answer. What was sold stays unknown, if it was.
		err = errors.Join(err, ctx.Err())
	}
	return receipt, err
}

// orderID returns the client's name for its order, if it gave one: with it the client knows its order again even when
// the answer gets lost.
func orderID(c *gin.Context) (string, error) {
	id := c.GetHeader("X-Request-ID")
	if id != "" && !orderPattern.MatchString(id) {
		return "", badInput("X-Request-ID is 1 to 64 letters, digits, _ or -")
	}
	return id, nil
}
