package main

import (
	"log"
	"log/slog"
	"strings"
)

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
