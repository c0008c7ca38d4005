package client

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"time"
)

// newTransport returns a transport that keeps that many idle connections to an instance, and ignores the environment's
// proxy settings.
func newTransport(keep int) *http.Transport {
	return &http.Transport{
		DialContext:            (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
		MaxIdleConnsPerHost:    keep,
		IdleConnTimeout:        time.Minute, // a firewall may drop an idle connection silently
		DisableCompression:     true,
		MaxResponseHeaderBytes: 1 << 20,
	}
}

// An unrepeatable is an empty body. The transport retries a GET whose connection died, unless it has a body that cannot
// be read again.
type unrepeatable struct{}

func (unrepeatable) Read([]byte) (int, error) { return 0, io.EOF }
func (unrepeatable) Close() error             { return nil }

// send sends a request once and reads the whole answer. Patience bounds the time for both. sent is when the request got
// its connection, just before it was written; zero if it was never written. After an error, the effect of a written
// request is unknown.
func (c *Client) send(req *http.Request, patience time.Duration) (sent time.Time, status int, body []byte, err error) {
	ctx, cancel := context.WithTimeoutCause(req.Context(), patience, errTimeout)
	defer cancel()
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		// The transport takes another connection if the first died before anything was written to it.
		GetConn: func(string) { sent = time.Time{} },
		GotConn: func(httptrace.GotConnInfo) { sent = time.Now() },
	})
	resp, err := c.transport.RoundTrip(req.WithContext(ctx))
	if err != nil {
		return sent, 0, nil, reason(ctx, sent, err)
	}
	defer resp.Body.Close()
	body, err = io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	switch {
	case err != nil:
		return sent, resp.StatusCode, nil, reason(ctx, sent, fmt.Errorf("incomplete answer: %w", err))
	case len(body) > maxBody:
		return sent, resp.StatusCode, nil, fmt.Errorf("an answer of more than %d MB", maxBody>>20)
	}
	return sent, resp.StatusCode, body, nil
}

// reason returns why a request failed: err, unless it timed out.
func reason(ctx context.Context, sent time.Time, err error) error {
	switch {
	case ctx.Err() == nil:
		return err
	case sent.IsZero():
		return &lateError{context.Cause(ctx)}
	}
	return context.Cause(ctx)
}
