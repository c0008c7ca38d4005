package client

import (
	"errors"
	"fmt"
	"net"

	"stockapi/loadtest/history"
)

// A lateError means that an order had not left the client when its time was up.
type lateError struct{ cause error }

func (e *lateError) Error() string {
	return fmt.Sprintf("the client got no connection in time: %s", e.cause)
}

func (e *lateError) Unwrap() error { return e.cause }

// classifyUnsent classifies an order that was not sent, and so has no effect. If the client ran short of something,
// that is no result about the service. If the service did not accept the connection, it is one.
func classifyUnsent(op *history.Op, err error) {
	op.Outcome, op.Detail = history.NotSold, err.Error()
	if lack := clientLacks(err); lack != "" {
		op.Outcome, op.Detail = history.NotSent, lack
	}
}

// clientLacks returns what the client ran short of, in the same words for each such order; "" if nothing.
func clientLacks(err error) string {
	var name *net.DNSError
	var late *lateError
	switch {
	case errors.As(err, &name):
		return "the client could not resolve the address: " + name.Err
	case errors.As(err, &late):
		return late.Error()
	}
	for _, l := range shortages {
		if errors.Is(err, l) {
			return fmt.Sprintf("the client ran out of a resource: %s", l)
		}
	}
	return ""
}
