package client

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"stockapi/loadtest/history"
)

const (
	// maxBody bounds the size of an answer: even the long trace of an order that polled for its lock fits.
	maxBody = 4 << 20
	// largeBody is the size from which answers are decoded one at a time: decoding may need fifty times as much memory.
	largeBody = 64 << 10
)

// A Client calls instances. It is safe for concurrent use, and keeps one idle connection per concurrent caller;
// otherwise every burst would measure new connections. It neither retries an order nor follows redirects: how often an
// order was sent is part of the proof.
type Client struct {
	// StockTTL is the TTL that SetStock sets; 0: none.
	StockTTL time.Duration

	transport *http.Transport
	token     string
}

// New returns a client for that many concurrent callers. A token, if not empty, is sent to admin routes, and with
// orders that carry a fault.
func New(concurrency int, token string) *Client {
	room()
	return &Client{token: token, transport: newTransport(concurrency + 2)}
}

// room enlarges the heap: a run's few megabytes alone would be collected every thousand orders. It is never written to,
// so it takes no physical memory.
var room = sync.OnceValue(func() []byte { return make([]byte, 32<<20) })

// Close drops the idle connections.
func (c *Client) Close() { c.transport.CloseIdleConnections() }

// authorize adds the token, if there is one.
func (c *Client) authorize(req *http.Request) {
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
}

// patience bounds the wait for the answer to a request other than an order.
const patience = 10 * time.Second

// ask sends a request other than an order.
func (c *Client) ask(ctx context.Context, method, url, body string) (status int, answer []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	c.authorize(req)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	_, status, answer, err = c.send(req, patience)
	if err != nil {
		return status, nil, fmt.Errorf("%s %s: %w", method, url, unreached(err))
	}
	return status, answer, nil
}

// unreached returns why a service was not reached, with the remedy. It returns any other error unchanged.
func unreached(err error) error {
	var name *net.DNSError
	var dial *net.OpError
	var header tls.RecordHeaderError
	switch {
	case errors.As(err, &name) && name.IsNotFound:
		return fmt.Errorf("no host %s: correct the URL", name.Name)
	case errors.As(err, &header):
		return errors.New("it does not speak TLS: begin the URL with http://")
	case errors.As(err, &dial) && dial.Op == "dial":
		var call *os.SyscallError
		if errors.As(err, &call) {
			return fmt.Errorf("%w: is the service running there?", call.Err)
		}
	}
	return err
}

// call expects a 2xx and decodes it into out, unless out is nil.
func (c *Client) call(ctx context.Context, method, url, body string, out any) error {
	status, answer, err := c.ask(ctx, method, url, body)
	if err != nil {
		return err
	}
	switch {
	case status == http.StatusUnauthorized:
		return fmt.Errorf("%s %s answered %d: set LOADTEST_ADMIN_TOKEN to the admin token", method, url, status)
	case status/100 != 2:
		return fmt.Errorf("%s %s answered %s", method, url, describe(status, answer))
	}
	if out == nil {
		return nil
	}
	if err := history.ReadJSON(answer, out); err != nil {
		return fmt.Errorf("%s %s answered with unexpected JSON: %w: is that a stockapi?", method, url, err)
	}
	return nil
}
