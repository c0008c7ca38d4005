package backend_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"

	"stockapi/internal/backend"
)

// A command counts as unsent only if no connection was there for it: one whose reply was lost may have been executed.
func TestUnsentCommands(t *testing.T) {
	for _, one := range []struct {
		err  error
		want bool
	}{
		{&net.OpError{Op: "dial", Err: os.ErrDeadlineExceeded}, true},
		{fmt.Errorf("acquire: %w", &net.OpError{Op: "dial", Err: errors.New("connection refused")}), true},
		{redis.ErrPoolTimeout, true},
		{redis.ErrPoolExhausted, true},
		{redis.ErrClosed, true},
		{&net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}, false},
		{&net.OpError{Op: "write", Err: errors.New("connection reset by peer")}, false},
		{io.EOF, false},
		{context.DeadlineExceeded, false},
		{redis.Nil, false},
		{nil, false},
	} {
		assert.Equal(t, one.want, backend.Unsent(one.err), "%v", one.err)
	}
}
