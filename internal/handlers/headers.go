package handlers

import (
	"crypto/rand"
	"net/http"

	"github.com/gin-gonic/gin"
)

// requestID is the header that names a request: the client's own name for it, or one that is made up here.
const requestID = "X-Request-ID"

// headers puts on every answer what it has whatever comes of the request. A browser must not take a body for anything
// else than its type says; and the name of a request finds it again in the log.
func (s *server) headers(c *gin.Context) {
	id := c.GetHeader(requestID)
	if !orderPattern.MatchString(id) { // what is no name is not sent back either
		id = rand.Text()
	}
	c.Set(requestID, id)
	c.Header(requestID, id)
	c.Header("X-Content-Type-Options", "nosniff")
}

// orderID returns the client's name for its order, or the one made up for it: with it the client knows its order again
// even when the answer gets lost.
func orderID(c *gin.Context) (string, error) {
	if given := c.GetHeader(requestID); given != "" && given != c.GetString(requestID) {
		return "", badInput("X-Request-ID is 1 to 64 letters, digits, _ or -")
	}
	return c.GetString(requestID), nil
}

// get serves GET and HEAD, which is the same without a body.
func get(r *gin.Engine, path string, handlers ...gin.HandlerFunc) {
	r.GET(path, handlers...)
	r.HEAD(path, handlers...)
}

// strict refuses parameters on a route that takes none: a misspelt one must not look as if it had been heeded.
func (s *server) strict(c *gin.Context) {
	if _, err := readQuery(c.Request); err != nil {
		s.failAdmin(c, err)
	}
}

// retryAfter reports whether the same request may do better a moment later. What an instance lacks it will lack then too.
func retryAfter(name string, status int) bool {
	return status == http.StatusLocked || status == http.StatusServiceUnavailable && name != "rung-unavailable"
}
