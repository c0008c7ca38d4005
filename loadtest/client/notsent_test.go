package client

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/history"
)

// dialled wraps an error as net does when it cannot dial.
func dialled(err error) error { return &net.OpError{Op: "dial", Net: "tcp", Err: err} }

// What the client lacked says nothing of the service. That nobody was there does.
func TestWhatNeverLeftTheClient(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want history.Outcome
	}{
		"no file descriptors":          {dialled(os.NewSyscallError("socket", shortages[0])), history.NotSent},
		"no local port":                {dialled(os.NewSyscallError("connect", syscall.EADDRNOTAVAIL)), history.NotSent},
		"no buffer":                    {dialled(os.NewSyscallError("connect", syscall.ENOBUFS)), history.NotSent},
		"no name":                      {dialled(&net.DNSError{Err: "no such host", Name: "h"}), history.NotSent},
		"nobody there":                 {dialled(os.NewSyscallError("connect", syscall.ECONNREFUSED)), history.NotSold},
		"thrown out":                   {dialled(os.NewSyscallError("connect", syscall.ECONNRESET)), history.NotSold},
		"the network does not answer":  {dialled(os.ErrDeadlineExceeded), history.NotSold},
		"nobody who could be believed": {fmt.Errorf("tls: handshake failure"), history.NotSold},
	} {
		client := unanswering(func(context.Context) error { return c.err })
		op := client.Buy(t.Context(), time.Now(), "http://127.0.0.1:1", one)
		assert.Equal(t, c.want, op.Outcome, "%s: %s", name, op.Detail)
		assert.NotContains(t, op.Detail, "127.0.0.1", "the same for each order")
		assert.True(t, op.Done.Known(), "nothing more can come of it")
	}
}

// Whose time is up before there is a connection has not asked the service, unless that has refused.
func TestTheTimeIsUpBeforeThereIsAConnection(t *testing.T) {
	o := one
	o.Timeout = 20 * time.Millisecond
	for refused, want := range map[error]history.Outcome{
		nil:                  history.NotSent,
		syscall.ECONNREFUSED: history.NotSold,
		syscall.ECONNRESET:   history.NotSold,
	} {
		slow := unanswering(func(ctx context.Context) error {
			<-ctx.Done()
			if refused == nil {
				refused = ctx.Err()
			}
			return dialled(refused)
		})
		op := slow.Buy(t.Context(), time.Now(), "http://127.0.0.1:1", o)
		assert.Equal(t, want, op.Outcome, op.Detail)
		if want == history.NotSent {
			assert.Equal(t, "the client got no connection in time: "+errTimeout.Error(), op.Detail)
		}
	}
}

// unanswering is a client whose dialling fails like this.
func unanswering(dial func(ctx context.Context) error) *Client {
	c := New(1, "")
	c.pool.dial = func(ctx context.Context, _, _ string) (net.Conn, error) {
		return nil, dial(ctx)
	}
	return c
}

// All orders that stand before a gate come to the service after it was opened, each on a connection that was there
// before.
func TestOrdersStandBeforeAGate(t *testing.T) {
	const n = 50
	var dials, early atomic.Int64
	var opened atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !opened.Load() {
			early.Add(1)
		}
		_, _ = fmt.Fprintf(w, `{"order":%q,"quantity":1,"units":[1]}`, r.Header.Get("X-Request-ID"))
	}))
	defer server.Close()
	c := New(n, "")
	defer c.Close()
	c.pool.dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		assert.False(t, opened.Load(), "dialled before")
		dials.Add(1)
		return dial(ctx, network, address)
	}
	var gate Gate
	var ready, finished sync.WaitGroup
	var start time.Time
	ops := make([]history.Op, n)
	for i := range ops {
		ready.Add(1)
		finished.Go(func() {
			o := Order{ID: fmt.Sprint("p-", i), Rung: "v4", Product: "p", Quantity: 1, Timeout: 10 * time.Second}
			ops[i] = c.BuyAt(t.Context(), &gate, ready.Done, func() time.Time { return start }, server.URL, o)
		})
	}
	ready.Wait()
	opened.Store(true)
	start = time.Now()
	last := gate.Open()
	finished.Wait()
	assert.Equal(t, int64(n), dials.Load())
	assert.Zero(t, early.Load())
	for _, op := range ops {
		require.Equal(t, history.Sold, op.Outcome, op.Detail)
		assert.GreaterOrEqual(t, op.Sent, history.Instant(0))
		assert.LessOrEqual(t, op.Sent, history.At(start, last))
		assert.LessOrEqual(t, op.Sent, op.Done)
		assert.InDelta(t, float64(op.Done), float64(op.Latency), float64(time.Millisecond), "counted from the start")
	}
}

// The patience of an order begins when it is let go: until then it waits for others. And what was never let go was
// never sent.
func TestPatienceBeginsAtTheGate(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer server.Close()
	for opens, want := range map[bool]history.Outcome{true: history.Unknown, false: history.NotSent} {
		c := New(1, "")
		ctx, cancel := context.WithCancel(t.Context())
		var gate Gate
		ready, done := make(chan struct{}), make(chan history.Op, 1)
		go func() {
			o := Order{ID: "p-1", Rung: "v4", Product: "p", Quantity: 1, Timeout: time.Millisecond}
			done <- c.BuyAt(ctx, &gate, func() { close(ready) }, time.Now, server.URL, o)
		}()
		<-ready
		select {
		case op := <-done:
			t.Errorf("it did not wait: %+v", op)
		case <-time.After(50 * time.Millisecond):
		}
		if opens {
			gate.Open()
		} else {
			cancel()
		}
		op := <-done
		assert.Equal(t, want, op.Outcome, op.Detail)
		cancel()
		c.Close()
	}
}
