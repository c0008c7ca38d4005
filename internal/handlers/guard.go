package handlers

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"stockapi/internal/sale"
)

// What every request has to pass before its handler, in this order: is it meant for us, did a page of another site send
// it, did all of it arrive. And what every answer has to keep to: it is read in time, or its connection ends.

const (
	// bodyTime is how long a client may take to send its body.
	bodyTime = 5 * time.Second
	// answerTime is how long a client may take to read its answer, which has 100 KB at most.
	answerTime = 10 * time.Second
	// adminTime is how long administrative work may go on, whether its client waits or not.
	adminTime = time.Minute
)

var (
	errMisdirected = errors.New("the Host is no name of this instance: if it should be, start it with --hosts and the name")
	errCrossOrigin = errors.New("a browser sent this for a page of another site")
)

// Hosts are the names that an instance goes by: what a request may have as its Host. Whoever owns another name can have
// it lead to this machine (DNS rebinding), and then browsers take pages of theirs for pages of ours.
type Hosts struct {
	Names  []string // beside addresses of this machine and localhost; "*" is every name
	Beyond bool     // listens beyond loopback: any address will do, and any name without a dot, as no DNS gives it away
}

// include reports whether host, with a port or without, is one of ours.
func (h Hosts) include(host string) bool {
	if host == "" || slices.Contains(h.Names, "*") {
		return true // HTTP/1.0 has no Host, and no browser
	}
	name := strings.ToLower(strings.TrimSuffix(withoutPort(host), "."))
	if addr, err := netip.ParseAddr(name); err == nil {
		return h.Beyond || addr.IsLoopback() || h.names(name)
	}
	return name != "" && (name == "localhost" || strings.HasSuffix(name, ".localhost") || h.names(name) ||
		h.Beyond && !strings.Contains(name, "."))
}

func (h Hosts) names(name string) bool {
	return slices.ContainsFunc(h.Names, func(ours string) bool { return strings.EqualFold(ours, name) })
}

func withoutPort(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		return name
	}
	return strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
}

// forUs refuses what is meant for another host.
func (s *server) forUs(c *gin.Context) {
	if !s.Hosts.include(c.Request.Host) {
		s.refuse(c, errMisdirected)
	}
}

// sameOrigin refuses what a browser sends for a page of another site. Such a page cannot read our answers, but without
// this it could sell. To read under a lock is no safe method either, whatever HTTP says of GET: it holds up the writers.
func (s *server) sameOrigin(c *gin.Context) {
	r := c.Request
	if sells(c) {
		r = &http.Request{Method: http.MethodPost, Host: r.Host, Header: r.Header, URL: r.URL}
	}
	if s.origins.Check(r) != nil {
		s.refuse(c, errCrossOrigin)
	}
}

// sells reports whether the route is one that takes a lock.
func sells(c *gin.Context) bool { return strings.HasPrefix(c.FullPath(), "/:rung/") }

// takeBody reads the body of a request, all of it and before anything is done, for handlers to read it from memory.
//
// A client that does not send it in time is answered, and its connection ended. That takes the time limit to stay:
// net/http looks for the end of the body once more before it lets go of a connection. Of a body that came whole net/http
// lifts the limit by itself, and waits for the client to go; where there is no body it does so already, and a limit
// would be taken for that.
func (s *server) takeBody(c *gin.Context) {
	if c.Request.Body == nil || c.Request.Body == http.NoBody {
		return
	}
	_ = http.NewResponseController(c.Writer).SetReadDeadline(time.Now().Add(bodyTime))
	body, err := wholeBody(c.Request)
	if err != nil {
		c.Header("Connection", "close")
		s.refuse(c, err)
		return
	}
	c.Request.Body = io.NopCloser(bytes.NewReader(body))
}

// wholeBody returns the body of a request, if it is no larger than any request of this service can need.
func wholeBody(r *http.Request) ([]byte, error) {
	tooLarge := &http.MaxBytesError{Limit: maxBody}
	if r.ContentLength > maxBody {
		return nil, tooLarge
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	switch {
	case len(body) > maxBody:
		return nil, tooLarge
	case err != nil: // it was too slow, or has gone
		return nil, badInput("the body did not arrive whole")
	}
	return body, nil
}

// refuse answers a request that does not get to its handler.
func (s *server) refuse(c *gin.Context, err error) {
	if !sells(c) {
		s.failAdmin(c, err)
		return
	}
	id, _ := orderID(c)
	s.fail(c, err, sale.Receipt{Order: id})
}

// seenThrough returns a context for administrative work, which is not left half done when its client goes.
func seenThrough(c *gin.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(c.Request.Context()), adminTime)
}

// An answer bounds how long a client may take to read it. The time begins with the answer and not with the request, which
// may have waited and worked for minutes. Of an instance that shuts down it says that the connection ends with it.
type answer struct {
	http.ResponseWriter
	closed func() bool
}

// WriteHeader begins the answer.
func (a *answer) WriteHeader(status int) {
	_ = http.NewResponseController(a.ResponseWriter).SetWriteDeadline(time.Now().Add(answerTime))
	if a.closed() {
		a.Header().Set("Connection", "close")
	}
	a.ResponseWriter.WriteHeader(status)
}

// Unwrap is for http.ResponseController.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// inTime serves with h, whose clients have to read their answers in time.
func inTime(h http.Handler, closed func() bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(&answer{w, closed}, r)
	})
}
