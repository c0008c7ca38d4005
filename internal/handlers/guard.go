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

// Every request passes these checks before its handler, in this order: the Host is a name of this instance, no page of
// another site sent the request, and the whole body arrived in time. A client has to read its answer in time, too, or
// its connection ends.

const (
	// bodyTime bounds the time in which a client has to send its body.
	bodyTime = 5 * time.Second
	// answerTime bounds the time in which a client has to read its answer, of at most 2 MB.
	answerTime = 10 * time.Second
	// adminTime bounds administrative work, which goes on when its client has gone.
	adminTime = time.Minute
)

var (
	errMisdirected = errors.New("the Host is not a name of this instance: to allow it, start the instance with --hosts")
	errCrossOrigin = errors.New("a browser sent this for a page of another site")
)

// Hosts lists the names that a request may have as its Host. An attacker can point a name of their own at this machine
// (DNS rebinding), and then browsers take the attacker's pages for pages of this instance.
type Hosts struct {
	Names  []string // beside localhost and loopback addresses; "*" allows every name
	Beyond bool     // the instance listens beyond loopback: allow any address, and any name without a dot, which is local
}

// include reports whether host, with or without a port, is allowed.
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

// checkHost refuses a request for another host.
func (s *server) checkHost(c *gin.Context) {
	if !s.Hosts.include(c.Request.Host) {
		s.refuse(c, errMisdirected)
	}
}

// checkOrigin refuses a request that a browser sends for a page of another site. Such a page cannot read the answers,
// but without this check it could sell. A GET that reads under a lock is refused too: it makes the writers wait.
func (s *server) checkOrigin(c *gin.Context) {
	r := c.Request
	if takesLock(c) && r.Method != http.MethodPost { // Check takes a GET for harmless
		r = &http.Request{Method: http.MethodPost, Host: r.Host, Header: r.Header, URL: r.URL}
	}
	if s.origins.Check(r) != nil {
		s.refuse(c, errCrossOrigin)
	}
}

// takesLock reports whether the route takes a lock.
func takesLock(c *gin.Context) bool { return strings.HasPrefix(c.FullPath(), "/:rung/") }

// bufferBody reads the whole body of a request before its handler runs. The handler then reads it from memory.
//
// A client that does not send its body in time gets an answer, and its connection ends. The read deadline stays set for
// that, because net/http reads the rest of the body before it closes the connection. After a whole body net/http resets
// the deadline by itself, and watches for the client to close the connection. Without a body it watches already, and
// would take an expired deadline for a client that has gone: so none is set.
func (s *server) bufferBody(c *gin.Context) {
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

// wholeBody returns the body of a request, of at most maxBody bytes.
func wholeBody(r *http.Request) ([]byte, error) {
	tooLarge := &http.MaxBytesError{Limit: maxBody}
	if r.ContentLength > maxBody {
		return nil, tooLarge
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	switch {
	case len(body) > maxBody:
		return nil, tooLarge
	case err != nil: // the client was too slow, or has gone
		return nil, badInput("the body did not arrive whole")
	}
	return body, nil
}

// refuse sends the problem of a request that does not reach its handler.
func (s *server) refuse(c *gin.Context, err error) {
	if !takesLock(c) {
		s.failAdmin(c, err)
		return
	}
	id, _ := orderID(c)
	s.fail(c, err, sale.Receipt{Order: id})
}

// withoutCancel returns a context for administrative work, which goes on when its client has gone.
func withoutCancel(c *gin.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(c.Request.Context()), adminTime)
}

// A deadlineWriter bounds how long a client may take to read an answer. The time begins with the answer rather than the
// request, which may have waited and worked for minutes. While the instance shuts down, it closes the connection after
// the answer.
type deadlineWriter struct {
	http.ResponseWriter
	closed func() bool
}

// WriteHeader begins the answer.
func (a *deadlineWriter) WriteHeader(status int) {
	_ = http.NewResponseController(a.ResponseWriter).SetWriteDeadline(time.Now().Add(answerTime))
	if a.closed() {
		a.Header().Set("Connection", "close")
	}
	a.ResponseWriter.WriteHeader(status)
}

// Unwrap is for http.ResponseController.
func (a *deadlineWriter) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// withWriteDeadline serves with h, and ends the connection of a client that does not read its answer in time.
func withWriteDeadline(h http.Handler, closed func() bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(&deadlineWriter{w, closed}, r)
	})
}
