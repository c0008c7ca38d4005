package main

import (
	"context"
	"log"
	"log/slog"
	"strings"
	"sync"
	"time"
)

// limitWindow is the least time between two log lines about failures of one kind.
const limitWindow = time.Second

// A logLimiter is a log handler that keeps an outage from flooding the log. Of failures with the same message it logs
// the first, then once a second the latest, with the number of suppressed ones. It passes on other records and debug
// records as they are.
type logLimiter struct {
	slog.Handler
	*limiterState
}

// limiterState is shared by handlers that were derived from one another.
type limiterState struct {
	mu   sync.Mutex
	open map[string]*window // by message; messages are constants, so there are few
}

// A window is the time after a line in which no other line of its kind is logged.
type window struct {
	timer      *time.Timer
	latest     func(suppressed int) // logs the latest record
	suppressed int
}

func newLogLimiter(h slog.Handler) logLimiter {
	return logLimiter{h, &limiterState{open: map[string]*window{}}}
}

// Handle is part of slog.Handler.
func (s logLimiter) Handle(ctx context.Context, r slog.Record) error {
	if !isFailure(r) {
		return s.Handler.Handle(ctx, r)
	}
	s.mu.Lock()
	w, ok := s.open[r.Message]
	if ok {
		w.suppressed++
		r := r.Clone()
		w.latest = func(suppressed int) {
			if suppressed > 1 {
				r.AddAttrs(slog.Int("suppressed", suppressed-1))
			}
			_ = s.Handler.Handle(context.WithoutCancel(ctx), r)
		}
		s.mu.Unlock()
		return nil
	}
	w = &window{}
	w.timer = time.AfterFunc(limitWindow, func() { s.end(r.Message, w) })
	s.open[r.Message] = w
	s.mu.Unlock()
	return s.Handler.Handle(ctx, r)
}

// end logs the latest suppressed record of a window, and starts the next window. If nothing was suppressed, the next
// failure counts as a first one again.
func (s *limiterState) end(message string, w *window) {
	s.mu.Lock()
	latest, suppressed := w.latest, w.suppressed
	w.latest, w.suppressed = nil, 0
	switch {
	case s.open[message] != w: // flushed meanwhile
	case suppressed > 0:
		w.timer.Reset(limitWindow)
	default:
		delete(s.open, message)
	}
	s.mu.Unlock()
	if latest != nil {
		latest(suppressed)
	}
}

// Flush logs the suppressed records so far. It is called at the end of the process.
func (s *limiterState) Flush() {
	s.mu.Lock()
	open := s.open
	s.open = map[string]*window{}
	s.mu.Unlock()
	for message, w := range open {
		w.timer.Stop()
		s.end(message, w)
	}
}

// WithAttrs is part of slog.Handler.
func (s logLimiter) WithAttrs(attrs []slog.Attr) slog.Handler {
	return logLimiter{s.Handler.WithAttrs(attrs), s.limiterState}
}

// WithGroup is part of slog.Handler.
func (s logLimiter) WithGroup(name string) slog.Handler {
	return logLimiter{s.Handler.WithGroup(name), s.limiterState}
}

// isFailure reports whether a record is about a failure, of which an outage causes thousands: it is an error, or it has
// an error, a status or an order.
func isFailure(r slog.Record) bool {
	failed := r.Level >= slog.LevelError
	r.Attrs(func(a slog.Attr) bool {
		failed = failed || a.Key == "err" || a.Key == "status" || a.Key == "order"
		return !failed
	})
	return failed && r.Level > slog.LevelDebug
}

// errorLog returns the log that net/http writes to.
func errorLog(l *slog.Logger) *log.Logger { return log.New(serverLog{l}, "", 0) }

// A serverLog logs the messages of net/http: as an error if no connection can be accepted, and for debugging if they
// are about a single connection.
type serverLog struct{ *slog.Logger }

// Write is part of io.Writer. net/http writes one line at a time.
func (l serverLog) Write(line []byte) (int, error) {
	text := strings.TrimSpace(string(line))
	if why, ok := strings.CutPrefix(text, "http: Accept error: "); ok {
		l.Error("no connection can be accepted: is the number of open files too low (ulimit -n)?", "err", why)
	} else if strings.HasPrefix(text, "http: panic serving") {
		l.Error("panic in the HTTP server", "err", text)
	} else {
		l.Debug(text)
	}
	return len(line), nil
}
