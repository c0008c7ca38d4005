package shop

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"

	"stockapi/loadtest/history"
	"stockapi/loadtest/rig"
)

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

// NewOrder returns an order that has not been sent.
func (s *Shop) NewOrder(name string, at int, phase history.Phase) *Order {
	id := s.Product + "-" + name
	o := &Order{InFlight: rig.NewInFlight(id, at), Name: name}
	o.Op = history.Op{Order: id, Phase: phase, Quantity: 1}
	return o
}

// A Span is the time between two moments.
type Span struct{ From, To time.Time }

// Has reports whether the span has a time.
func (s Span) Has(t time.Time) bool { return t.After(s.From) && t.Before(s.To) }

// IsOpen reports whether an order had not ended by then.
func (o *Order) IsOpen(then time.Time) bool { return !o.HasEnded() || !o.Over.Before(then) }

// begin sends the order, and records when it ended, and whether the customer had left.
func (o *Order) begin(ctx context.Context, send func(context.Context)) history.Op {
	send(ctx)
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

// run runs a shell command that orders a unit, and records the outcome by its exit code: 0 is an answer, a sale if what
// it printed matches sold, or if that is nil; 1 is a refusal, and what any other code means is unknown.
func (o *Order) run(
	ctx context.Context, shell func(context.Context, string, bool) (string, []string, error), line string,
	sold *regexp.Regexp,
) {
	op := &o.Op
	op.Outcome = history.Unknown
	out, errs, err := shell(ctx, line, false)
	failed, code := (*exec.ExitError)(nil), 0
	if errors.As(err, &failed) {
		code = failed.ExitCode()
	} else if err != nil {
		op.Detail = "no answer: " + err.Error()
		return
	}
	op.Detail = history.Clip(strings.TrimSuffix(fmt.Sprintf("exit %d: %s", code, lastLine(out, errs)), ": "))
	if code > 1 || code < 0 {
		return
	}
	o.Ended, op.Outcome = time.Now(), history.Busy
	if code == 0 && (sold == nil || sold.MatchString(out)) {
		op.Outcome = history.Sold
	}
}

// lastLine returns the last line of an output that says something, or else of the errors.
func lastLine(out string, errs []string) string {
	for _, line := range slices.Backward(append(slices.Clone(errs), strings.Split(out, "\n")...)) {
		if line = strings.TrimSpace(line); line != "" {
			return line
		}
	}
	return ""
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

// Nth returns the name of a customer's nth order.
func Nth(name string, n int) string {
	if n == 1 {
		return name
	}
	return fmt.Sprintf("%s-%d", name, n)
}
