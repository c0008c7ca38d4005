package client

import (
	"errors"
	"fmt"
	"net"

	"stockapi/loadtest/history"
)

// A lateError means that an order timed out before it had left the client.
type lateError struct{ cause error }

func (e *lateError) Error() string {
	return fmt.Sprintf("the client got no connection in time: %s", e.cause)
}

func (e *lateError) Unwrap() error { return e.cause }

// classifyUnsent classifies an order that was not sent, and so had no effect. A shortage of the client's resources is
// no result about the service; a refused connection is one.
func classifyUnsent(op *history.Op, err error) {
	op.Outcome, op.Detail = history.NotSold, err.Error()
	if lack := clientLacks(err); lack != "" {
		op.Outcome, op.Detail = history.NotSent, lack
	}
}

// clientLacks names the resource that the client ran out of, always in the same words; "" if none.
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
