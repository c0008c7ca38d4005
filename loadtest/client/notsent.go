package client

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"

	"stockapi/loadtest/history"
)

// classifyUnsent classifies an order that got no connection: it has no effect. If the client lacked something, the
// order says nothing about the service. If the service did not accept the connection, it does.
func classifyUnsent(ctx context.Context, op *history.Op, err error) {
	op.Outcome, op.Detail = history.NotSold, err.Error()
	if lack := clientLacks(ctx, err); lack != "" {
		op.Outcome, op.Detail = history.NotSent, lack
	}
}

// dialling reports whether err means that a connection could not be made. net/http makes another one if the first turns
// out to be closed before anything was written to it.
func dialling(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

// clientLacks says what the client lacked, in words that are the same for each such order. It is empty if the client
// lacked nothing.
func clientLacks(ctx context.Context, err error) string {
	var name *net.DNSError
	switch {
	case errors.As(err, &name):
		return "the client could not resolve the address: " + name.Err
	case ctx.Err() != nil && !errors.Is(err, syscall.ECONNREFUSED) && !errors.Is(err, syscall.ECONNRESET):
		return fmt.Sprintf("the client got no connection in time: %s", context.Cause(ctx))
	}
	for _, l := range shortages {
		if errors.Is(err, l) {
			return fmt.Sprintf("the client ran out of a resource: %s", l)
		}
	}
	return ""
}
