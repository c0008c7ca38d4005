package handlers

import (
	"crypto/rand"
	"io"
	"net/http"

	"github.com/gin-gonic/gin"
	"github.com/gin-gonic/gin/render"
)

// requestID is the header with the name of a request, which the client or the service chooses.
const requestID = "X-Request-ID"

// headers sets the headers of every answer: the name of the request, which is also in the log, and nosniff, so that a
// browser does not guess the type of a body.
func (s *server) headers(c *gin.Context) {
	id := c.GetHeader(requestID)
	if !orderPattern.MatchString(id) { // a value that is no name is not sent back either
		id = rand.Text()
	}
	c.Set(requestID, id)
	c.Header(requestID, id)
	c.Header("X-Content-Type-Options", "nosniff")
}

// orderID returns the name of an order, chosen by the client or else by the service. If the answer is lost, the client
// can ask for the outcome by a name of its own.
func orderID(c *gin.Context) (string, error) {
	if given := c.GetHeader(requestID); given != "" && given != c.GetString(requestID) {
		return "", badInput("X-Request-ID is 1 to 64 letters, digits, _ or -")
	}
	return c.GetString(requestID), nil
}

// get serves GET, and HEAD, which is the same without a body.
func get(r *gin.Engine, path string, handlers ...gin.HandlerFunc) {
	r.GET(path, handlers...)
	r.HEAD(path, handlers...)
}

// noParams refuses parameters on a route that takes none: a client must not believe that a misspelt one took effect.
func (s *server) noParams(c *gin.Context) {
	if _, err := readQuery(c.Request); err != nil {
		s.failAdmin(c, err)
	}
}

// retryAfter reports whether a retry may succeed a moment later. A missing backend will still be missing.
func retryAfter(name string, status int) bool {
	return status == http.StatusLocked || status == http.StatusServiceUnavailable && name != "rung-unavailable"
}

// sendJSON answers with body as JSON. A newline ends it, so that a terminal shows one answer a line.
func sendJSON(c *gin.Context, status int, body any) {
	c.Render(status, jsonLine{render.JSON{Data: body}})
}

type jsonLine struct{ render.JSON }

// Render is part of [render.Render].
func (r jsonLine) Render(w http.ResponseWriter) error {
	if err := r.JSON.Render(w); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}
