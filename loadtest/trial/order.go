package trial

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"regexp"
	"strings"
	"time"

	"stockapi/loadtest/history"
	"stockapi/loadtest/rig"
)

// A Request orders a unit: POST /buy {"sku":"{product}"}. In its path and body {product} is the product, {i} a number
// from 1 on and {order} a name that differ in every order, and {ms} how long its work takes.
type Request struct{ Method, Path, Body string }

var requestLine = regexp.MustCompile(`^([A-Z]+) (/\S*)(?: (.+))?$`)

// ParseRequest parses a method, a path and, if there is one, a body.
func ParseRequest(text string) (r Request, err error) {
	m := requestLine.FindStringSubmatch(text)
	if m == nil {
		return r, fmt.Errorf("%q is not a request such as POST /decrease, or POST /buy {\"sku\":\"{product}\"}", text)
	}
	return Request{m[1], m[2], m[3]}, nil
}

// A Header is sent with every order. Its value may have the placeholders of a [Request].
type Header struct{ Name, Value string }

var headerLine = regexp.MustCompile("^([\\w!#$%&'*+.^`|~-]+):[ \t]*([\t -~\u0080-\U0010ffff]*)$")

// ParseHeader parses a name, a colon and a value.
func ParseHeader(text string) (h Header, err error) {
	m := headerLine.FindStringSubmatch(text)
	if m == nil {
		return h, fmt.Errorf("%q is not a header such as Authorization: Bearer t", text)
	}
	return Header{m[1], m[2]}, nil
}

// mostOfBody bounds the part of an answer that is read.
const mostOfBody = 64 << 10

// An Order is one request for a unit. Once it is over, its Op has the answer.
type Order struct {
	*rig.InFlight
	Name    string
	headers http.Header // of its request, besides ours

	Over       time.Time // when it ended, with an answer or without
	Blocked    Span      // while a reply to it is known to be held: it sends nothing but renewals then
	Ended      time.Time // when it was answered; zero: it was not
	Page       bool      // the answer is HTML
	Left       bool      // its customer hung up or timed out: the instance may still work for it
	Waited     bool      // it timed out
	InDatabase int       // the number of the order at its instance's link to the database
	Fresh      bool      // it shows liveness after the fault
}

// hasSold reports whether an order has ended with a sale as its answer. If every answer looks like one, its writes of
// the stock decide.
func (b *bench) hasSold(o *Order) bool {
	return o.HasEnded() && o.Op.Outcome == history.Sold &&
		(!b.passport.ByWrites || b.hasWritten(o))
}

// A Span is the time between two moments.
type Span struct{ From, To time.Time }

func (s Span) Has(t time.Time) bool { return t.After(s.From) && t.Before(s.To) }

// plain puts the stock, and sends a plain order.
func (b *bench) plain(name string, at int) (*Order, error) {
	if err := b.Put(b.UnitsFor(0)); err != nil {
		return nil, err
	}
	return b.buy(name, at, history.Buy, b.Order, 0), nil
}

// buy sends an order.
func (b *bench) buy(name string, at int, phase history.Phase, how Request, work time.Duration) *Order {
	o := b.Buy(name, at, phase, how, work, b.passport.HTTPTime())
	b.orders = append(b.orders, o)
	return o
}

// ask sends the request, and records when it ended, and whether the customer had left.
func (o *Order) ask(ctx context.Context, with *http.Client, url, method, body string, sold *regexp.Regexp) history.Op {
	o.send(ctx, with, url, method, body, sold)
	o.Over = time.Now()
	o.Left = o.Ended.IsZero() && ctx.Err() != nil
	o.Waited = o.Left && errors.Is(ctx.Err(), context.DeadlineExceeded)
	return o.Op
}

// request returns the order's request. The user's headers replace ours.
func (o *Order) request(ctx context.Context, url, method, body string) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, method, url, bytes.NewBufferString(body))
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(body, "{") || strings.HasPrefix(body, "[") {
		r.Header.Set("Content-Type", "application/json")
	} else if body != "" {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	maps.Copy(r.Header, o.headers)
	r.Host = o.headers.Get("Host")
	return r, nil
}

// send sends the request, and records the outcome.
func (o *Order) send(ctx context.Context, with *http.Client, url, method, body string, sold *regexp.Regexp) {
	op := &o.Op
	op.Outcome = history.Unknown
	r, err := o.request(ctx, url, method, body)
	if err != nil {
		op.Outcome, op.Detail = history.NotSent, err.Error()
		return
	}
	answer, err := with.Do(r)
	if err != nil {
		op.Detail = "no answer: " + err.Error()
		if dial := (*net.OpError)(nil); errors.As(err, &dial) && dial.Op == "dial" {
			op.Outcome, o.Ended, op.Detail = history.NotSold, time.Now(), "could not connect"
		}
		return
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, mostOfBody))
	if err != nil {
		op.Detail = "incomplete answer: " + err.Error()
		return
	}
	o.Ended, op.Status, op.Detail = time.Now(), answer.StatusCode, history.Clip(strings.TrimSpace(string(text)))
	o.Page = strings.HasPrefix(answer.Header.Get("Content-Type"), "text/html")
	if location := answer.Header.Get("Location"); answer.StatusCode/100 == 3 && location != "" {
		op.Detail, o.Page = history.Clip("to "+location), false // its body is for old browsers
	}
	op.Outcome = outcomeOf(answer, text, sold)
}

// outcomeOf returns the outcome of an answer with that body.
func outcomeOf(answer *http.Response, text []byte, sold *regexp.Regexp) history.Outcome {
	switch class := answer.StatusCode / 100; {
	case class == 2 && (sold == nil || sold.Match(text)),
		class == 3 && sold != nil && (sold.Match(text) || sold.MatchString(answer.Header.Get("Location"))):
		return history.Sold
	case class == 2, class == 3 && sold != nil, class == 4:
		return history.Busy
	}
	return history.Unknown
}
