package client

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// maxBody bounds the size of an answer: even a long trace of an order that polled for its lock fits.
const maxBody = 32 << 20

// A Client calls instances. It is safe for concurrent use, and keeps one idle connection per concurrent caller: every
// burst would measure new connections otherwise.
type Client struct {
	// StockTTL is the TTL of the stock that SetStock puts; 0: none.
	StockTTL time.Duration
	// Shards is the number of shards that SetStock puts a product into; 0: none.
	Shards int

	orders *pool
	http   *http.Client // for all that is no order
	token  string
}

// New returns a client for that many concurrent callers. A token, if not empty, is sent to admin routes, and with
// orders that carry a fault.
func New(concurrency int, token string) *Client {
	room()
	return &Client{token: token, orders: newPool(concurrency + 2), http: &http.Client{
		Transport: &http.Transport{
			Proxy:               nil, // a proxy in the environment must not stand between a test and localhost
			DialContext:         dial,
			MaxIdleConnsPerHost: concurrency + 2,
			IdleConnTimeout:     time.Minute,
			DisableCompression:  true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// room makes the heap larger than a run's own few megabytes, which would be collected every thousand orders. Nobody
// writes to it, so it takes no memory.
var room = sync.OnceValue(func() []byte { return make([]byte, 32<<20) })

func dial(ctx context.Context, network, address string) (net.Conn, error) {
	return (&net.Dialer{Timeout: 5 * time.Second}).DialContext(ctx, network, address)
}

// Close drops the idle connections.
func (c *Client) Close() {
	c.orders.close()
	c.http.CloseIdleConnections()
}

// authorize adds the token, if there is one.
func (c *Client) authorize(req *http.Request) {
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
}

// do sends a request and reads the whole answer, since only a drained body frees its connection for reuse.
func (c *Client) do(req *http.Request) (status int, body []byte, err error) {
	resp, err := c.http.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	body, err = io.ReadAll(io.LimitReader(resp.Body, maxBody))
	return resp.StatusCode, body, err
}

// call is for the routes besides the sale: it expects a 2xx and decodes it into out, unless out is nil.
func (c *Client) call(ctx context.Context, method, url, body string, out any) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return err
	}
	c.authorize(req)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	status, answer, err := c.do(req)
	if err != nil {
		return err
	}
	if status/100 != 2 {
		return fmt.Errorf("%s %s answered %s", method, url, describe(status, answer))
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(answer, out); err != nil {
		return fmt.Errorf("%s %s answered with unexpected JSON: %w", method, url, err)
	}
	return nil
}
