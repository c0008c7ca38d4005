package shop

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"

	"stockapi/loadtest/history"
)

// unsent classifies an order that no connection was found for: it is as if it had never been. Where it was the client
// that lacked something, the service has no part in it; where nobody was there to take the connection, it has.
func unsent(ctx context.Context, op *history.Op, err error) {
	op.Outcome, op.Detail = history.NotSold, err.Error()
	if lack := lacking(ctx, err); lack != "" {
		op.Outcome, op.Detail = history.NotSent, lack
	}
}

// dialling reports whether it was a connection that could not be made. net/http makes another one if the first turns out to
// be closed before anything was written to it.
func dialling(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

// lacking names what the client lacked, in a few words that are the same for each order that lacked it. It is empty if
// the client lacked nothing.
func lacking(ctx context.Context, err error) string {
	var name *net.DNSError
	switch {
	case errors.As(err, &name):
		return "the client found no address: " + name.Err
	case ctx.Err() != nil && !errors.Is(err, syscall.ECONNREFUSED) && !errors.Is(err, syscall.ECONNRESET):
		return fmt.Sprintf("the client had no connection yet: %s", context.Cause(ctx))
	}
	for _, l := range lacks {
		if errors.Is(err, l) {
			return fmt.Sprintf("the client has none left: %s", l)
		}
	}
	return ""
}
