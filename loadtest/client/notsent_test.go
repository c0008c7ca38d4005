package client

import (
	"context"
	"fmt"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"stockapi/loadtest/history"
)

// dialled wraps an error as net does for a failed dial.
func dialled(err error) error { return &net.OpError{Op: "dial", Net: "tcp", Err: err} }

// A shortage of the client's resources is no result about the service. A service that does not listen is one.
func TestUnsentOrders(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want history.Outcome
	}{
		"no file descriptors":         {dialled(os.NewSyscallError("socket", shortages[0])), history.NotSent},
		"no local port":               {dialled(os.NewSyscallError("connect", syscall.EADDRNOTAVAIL)), history.NotSent},
		"no buffer":                   {dialled(os.NewSyscallError("connect", syscall.ENOBUFS)), history.NotSent},
		"no name":                     {dialled(&net.DNSError{Err: "no such host", Name: "h"}), history.NotSent},
		"no server":                   {dialled(os.NewSyscallError("connect", syscall.ECONNREFUSED)), history.NotSold},
		"thrown out":                  {dialled(os.NewSyscallError("connect", syscall.ECONNRESET)), history.NotSold},
		"the network does not answer": {dialled(os.ErrDeadlineExceeded), history.NotSold},
		"an untrusted server":         {fmt.Errorf("tls: handshake failure"), history.NotSold},
	} {
		client := unanswering(func(context.Context) error { return c.err })
		op := client.Buy(t.Context(), time.Now(), time.Now(), "http://127.0.0.1:1", one)
		assert.Equal(t, c.want, op.Outcome, "%s: %s", name, op.Detail)
		assert.NotContains(t, op.Detail, "127.0.0.1", "the same for each order")
		assert.True(t, op.Done.Known(), "nothing more can happen to it")
	}
}

// An order that times out before it has a connection is no result about the service.
func TestTimeoutBeforeConnection(t *testing.T) {
	o := one
	o.Timeout = 20 * time.Millisecond
	over := make(chan struct{})
	defer close(over)
	slow := unanswering(func(context.Context) error {
		<-over
		return dialled(os.ErrDeadlineExceeded)
	})
	op := slow.Buy(t.Context(), time.Now(), time.Now(), "http://127.0.0.1:1", o)
	assert.Equal(t, history.NotSent, op.Outcome, op.Detail)
	assert.Equal(t, "the client got no connection in time: "+errTimeout.Error(), op.Detail)
}

// unanswering returns a client whose dials fail as dial does.
func unanswering(dial func(ctx context.Context) error) *Client {
	c := New(1, "")
	c.transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
		return nil, dial(ctx)
	}
	return c
}
