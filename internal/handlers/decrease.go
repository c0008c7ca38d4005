package handlers

import (
	"context"
	"errors"
	"net/http"

	"github.com/gin-gonic/gin"

	"stockapi/internal/sale"
)

// outcomeKey is the context key for the name of the problem that a handler answered with.
const outcomeKey = "outcome"

// The parameters of a read, and those that a decrease has besides.
var (
	readParamNames  = []string{"wait", "ttl", "renew", "work", "caller", "nested", "trace", "fault"}
	orderParamNames = append([]string{"product", "quantity", "items", "permits"}, readParamNames...)
)

// decrease serves POST /{rung}/decrease: it sells.
func (s *server) decrease(c *gin.Context) {
	receipt, err := s.serve(c, s.sell, orderParamNames)
	s.answer(c, receipt, err)
	outcome := sold
	if err != nil {
		outcome = c.GetString(outcomeKey)
	}
	if receipt.Rung != "" { // a rung that exists: a label that clients invent would grow the metrics
		s.Metrics.Sales.WithLabelValues(receipt.Rung, outcome).Inc()
	}
}

// read serves GET /{rung}/stock/{product}: it reads the stock under the lock of the readers.
func (s *server) read(c *gin.Context) {
	product := c.Param("product")
	look := func(ctx context.Context, rung string, o sale.Order) (sale.Receipt, error) {
		o.Product = product
		return s.shop.Read(ctx, rung, o)
	}
	var receipt sale.Receipt
	err := checkProduct(product)
	if err == nil {
		receipt, err = s.serve(c, look, readParamNames)
	}
	s.answer(c, receipt, err)
}

func (s *server) answer(c *gin.Context, receipt sale.Receipt, err error) {
	if err != nil {
		s.fail(c, err, receipt)
		return
	}
	sendJSON(c, http.StatusOK, &receipt)
}

// serve reads an order from a request and executes it.
func (s *server) serve(
	c *gin.Context, execute func(context.Context, string, sale.Order) (sale.Receipt, error), known []string,
) (sale.Receipt, error) {
	id, err := orderID(c)
	if err != nil {
		return sale.Receipt{}, err
	}
	l, err := readParams(c.Request, known...)
	if err != nil {
		return sale.Receipt{Order: id}, err
	}
	order, err := s.Bounds.order(l)
	if err != nil {
		return sale.Receipt{Order: id}, err
	}
	order.ID = id
	ctx, err := s.withFaults(c, l, id)
	if err != nil {
		return sale.Receipt{Order: id}, err
	}
	receipt, err := execute(ctx, c.Param("rung"), order)
	return receipt, withClientGone(ctx, err)
}

// withClientGone joins err with the error of ctx if the client has gone. An unknown outcome stays unknown.
func withClientGone(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		err = errors.Join(err, ctx.Err())
	}
	return err
}
