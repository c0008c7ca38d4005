package handlers

import (
	"crypto/rand"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"
	"github.com/gin-gonic/gin/render"
)

// requestID is the header with the name of a request, which the client or the service chooses. The spelling is that of
// net/http, which would otherwise convert it at each use.
const requestID = "X-Request-Id"

// nosniff is the value of X-Content-Type-Options. All answers share it.
var nosniff = []string{"nosniff"}

// headers sets the headers of every answer: the name of the request, which is also in the log, and nosniff, so that no
// browser guesses the type of a body.
func (s *server) headers(c *gin.Context) {
	id := c.GetHeader(requestID)
	if !IsName(id) { // a value that is no name is not sent back either
		id = rand.Text()
	}
	header := c.Writer.Header()
	header[requestID], header["X-Content-Type-Options"] = []string{id}, nosniff
}

// orderID returns the name of an order, chosen by the client or else by the service. If the answer is lost, the client
// can ask for the outcome by a name of its own.
func orderID(c *gin.Context) (string, error) {
	id := c.Writer.Header().Get(requestID)
	if given := c.GetHeader(requestID); given != "" && given != id {
		return "", badInput("X-Request-ID is 1 to 64 letters, digits, _ or -")
	}
	return id, nil
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

// pretty is the parameter of all routes that asks for an indented answer: ?pretty.
const pretty = "pretty"

// sendJSON answers with body as JSON. A newline ends it, so that a terminal shows one answer a line. It is no page of a
// browser's, so < stays <.
func sendJSON(c *gin.Context, status int, body any) {
	render.JSON{}.WriteContentType(c.Writer) // does not replace that of a problem
	c.Status(status)
	encoder := json.NewEncoder(c.Writer)
	encoder.SetEscapeHTML(false)
	if strings.Contains(c.Request.URL.RawQuery, pretty) && c.Request.URL.Query().Has(pretty) {
		encoder.SetIndent("", "  ")
	}
	if err := encoder.Encode(body); err != nil {
		_ = c.Error(err)
	}
}
