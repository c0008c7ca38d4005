package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"stockapi/loadtest/history"
)

// A Ladder is an instance's answer to GET /rungs.
type Ladder struct {
	Instance string `json:"instance"`
	// Clock is the id of the machine's clock: instances with equal ids read the same clock.
	Clock string `json:"clock"`
	// Now is the instance's time when it answered; zero if it did not report one.
	Now time.Time `json:"now"`
	// Build names the build of stockapi, if reported.
	Build string `json:"build"`
	Rungs []Rung `json:"rungs"`
}

// A Rung is one rung as an instance offers it.
type Rung struct {
	Number    string   `json:"number"`
	Needs     []string `json:"needs"`
	Asks      []string `json:"asks"` // commands, any of which its Redis has to know
	Available bool     `json:"available"`
	Name      extra    `json:"name"`
	Wait      extra    `json:"wait"` // the default wait of an order for the lock
}

// An extra is a member beyond the contract: its text from stockapi, else "".
type extra string

// UnmarshalJSON accepts any value.
func (e *extra) UnmarshalJSON(b []byte) error {
	_ = json.Unmarshal(b, (*string)(e))
	return nil
}

// Rung returns the rung of that number, and whether the instance lists it.
func (l *Ladder) Rung(number string) (Rung, bool) {
	for _, r := range l.Rungs {
		if r.Number == number {
			return r, true
		}
	}
	return Rung{}, false
}

// Ready reports whether the instance is ready: its servers answer.
func (c *Client) Ready(ctx context.Context, base string) bool {
	return c.call(ctx, http.MethodGet, base+"/readyz", "", nil) == nil
}

// Ladder returns the rungs and the identity of an instance. An instance that lists no rungs is an error.
func (c *Client) Ladder(ctx context.Context, base string) (*Ladder, error) {
	var l Ladder
	if err := c.call(ctx, http.MethodGet, base+"/rungs", "", &l); err != nil {
		return nil, err
	}
	history.MakePlain(&l)
	if len(l.Rungs) == 0 {
		return nil, fmt.Errorf("%s/rungs lists no rungs: is that a stockapi?", base)
	}
	return &l, nil
}

// Warm opens a connection, and returns a function that releases it to the pool. Until then no other caller can reuse
// it, so concurrent callers open one each.
func (c *Client) Warm(ctx context.Context, base string) (release func()) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/livez", http.NoBody)
	if err != nil {
		return cancel
	}
	resp, err := c.transport.RoundTrip(req) //nolint:bodyclose // release closes it
	if err != nil {
		return cancel // the order will fail too
	}
	return func() {
		defer cancel()
		_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, maxBody))
		_ = resp.Body.Close()
	}
}

// SetStock sets the product's stock. The client's StockTTL removes it however this process ends; if a service rejects
// the TTL, it retries without.
func (c *Client) SetStock(ctx context.Context, base, product string, quantity int64) error {
	what := fmt.Sprintf(`"quantity":%d`, quantity)
	if c.StockTTL > 0 {
		body := fmt.Sprintf(`{%s,"ttl":%q}`, what, c.StockTTL)
		err := c.administer(ctx, http.MethodPut, base+"/stock/"+product, body)
		if err == nil || !strings.Contains(err.Error(), " answered 4") {
			return err
		}
	}
	return c.administer(ctx, http.MethodPut, base+"/stock/"+product, "{"+what+"}")
}

const (
	adminTries = 5
	adminGap   = 200 * time.Millisecond
)

// administer is call for an idempotent route that changes something. It retries: on a busy machine a backend may answer
// an instance too late, which is no fault of the rung.
func (c *Client) administer(ctx context.Context, method, url, body string) (err error) {
	for range adminTries {
		err = c.call(ctx, method, url, body, nil)
		if err == nil || !strings.Contains(err.Error(), " answered 503") {
			break
		}
		select {
		case <-time.After(adminGap):
		case <-ctx.Done():
			return err
		}
	}
	return err
}

// Stock returns the remaining stock.
func (c *Client) Stock(ctx context.Context, base, product string) (int64, error) {
	var s struct {
		Quantity *int64 `json:"quantity"`
	}
	if err := c.call(ctx, http.MethodGet, base+"/stock/"+product, "", &s); err != nil {
		return 0, err
	}
	if s.Quantity == nil {
		return 0, fmt.Errorf("GET %s/stock/%s names no quantity", base, product)
	}
	return *s.Quantity, nil
}

// Forget removes the product's stock and all its lock state from the backend.
func (c *Client) Forget(ctx context.Context, base, product string) error {
	return errors.Join(
		c.administer(ctx, http.MethodDelete, base+"/locks/"+product, ""),
		c.administer(ctx, http.MethodDelete, base+"/stock/"+product, ""),
	)
}
