package handlers

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"

	"stockapi/internal/lock"
	"stockapi/internal/sale"
	"stockapi/internal/stock"
	"stockapi/internal/trace"
)

// A Problem is the body of an error answer, as in RFC 9457. Each type has one status, so a tool that sees only statuses
// can tell the important problems apart.
type Problem struct {
	Type    string        `json:"type"`
	Title   string        `json:"title"`
	Status  int           `json:"status"`
	Detail  string        `json:"detail,omitempty"`
	Outcome string        `json:"outcome,omitempty"` // of an order: not-sold or unknown
	Order   string        `json:"order,omitempty"`
	Rung    string        `json:"rung,omitempty"`
	Server  string        `json:"instance_name,omitempty"` // the member "instance" of RFC 9457 is a URI
	Lease   *sale.Lease   `json:"lease,omitempty"`
	SoldBy  string        `json:"sold_by,omitempty"` // the order under whose lease this one was served
	Trace   []trace.Event `json:"trace,omitempty"`
}

const (
	notSold = "not-sold"
	unknown = "unknown"
)

// problems lists all problems by name. The name is the last part of the type, and the outcome in the metrics.
var problems = map[string]Problem{
	"bad-input":    {Status: http.StatusBadRequest, Title: "The request is not valid", Outcome: notSold},
	"unauthorized": {Status: http.StatusUnauthorized, Title: "This needs the admin token", Outcome: notSold},
	"cross-origin": {Status: http.StatusForbidden, Outcome: notSold,
		Title: "A page of another site sent this request"},
	"no-such-rung":       {Status: http.StatusNotFound, Title: "There is no such rung", Outcome: notSold},
	"no-such-product":    {Status: http.StatusNotFound, Title: "There is no such product", Outcome: notSold},
	"no-such-order":      {Status: http.StatusNotFound, Title: "No fault holds this order"},
	"unknown-order":      {Status: http.StatusNotFound, Title: "This instance does not know this order"},
	"no-such-route":      {Status: http.StatusNotFound, Title: "There is no such route"},
	"method-not-allowed": {Status: http.StatusMethodNotAllowed, Title: "This route does not allow this method"},
	"sold-out":           {Status: http.StatusConflict, Title: "Not enough stock is left", Outcome: notSold},
	"too-large":          {Status: http.StatusRequestEntityTooLarge, Title: "The body is too large", Outcome: notSold},
	"misdirected": {Status: http.StatusMisdirectedRequest, Outcome: notSold,
		Title: "The request is meant for another host"},
	"unsupported-media": {Status: http.StatusUnsupportedMediaType, Title: "The body has an encoding", Outcome: notSold},
	"lock-busy":         {Status: http.StatusLocked, Title: "Somebody else holds the lock", Outcome: notSold},
	"outcome-unknown": {Status: http.StatusInternalServerError, Outcome: unknown,
		Title: "The sale may or may not have happened"},
	"stock-corrupt": {Status: http.StatusBadGateway, Title: "The stock's key does not hold a number", Outcome: notSold},
	"lock-corrupt":  {Status: http.StatusBadGateway, Title: "A key of the lock has the wrong type", Outcome: notSold},
	"backend-away":  {Status: http.StatusServiceUnavailable, Title: "A backend does not answer", Outcome: notSold},
	"rung-unavailable": {Status: http.StatusServiceUnavailable, Outcome: notSold,
		Title: "This instance lacks what the rung needs"},
	"lease-lost": {Status: http.StatusServiceUnavailable, Outcome: notSold,
		Title: "The lease was lost before the sale was written"},
	"lease-exhausted": {Status: http.StatusServiceUnavailable, Outcome: notSold,
		Title: "The work took longer than its lease may be renewed for"},
	"fence-stale": {Status: http.StatusServiceUnavailable, Outcome: notSold,
		Title: "The stock has seen a newer fencing token"},
	"draining": {Status: http.StatusServiceUnavailable, Outcome: notSold,
		Title: "This instance is shutting down"},
	"client-gone": {Status: statusClientGone, Title: "The client closed the connection", Outcome: notSold},
	"internal": {Status: http.StatusInternalServerError, Outcome: unknown,
		Title: "The service failed"},
}

// statusClientGone is the status in the log and the metrics when the client has gone. No client gets it.
const statusClientGone = 499

// problemOf returns the name of the problem for an error. No other code maps errors to problems.
func problemOf(err error) string { //nolint:gocyclo // a flat list
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return "too-large"
	case errors.Is(err, errBadInput), errors.Is(err, sale.ErrCallerBusy), errors.Is(err, sale.ErrOneProduct),
		errors.Is(err, sale.ErrSeveralSlots), errors.Is(err, lock.ErrUpgrade):
		return "bad-input"
	case errors.Is(err, errEncoding):
		return "unsupported-media"
	case errors.Is(err, errUnauthorized):
		return "unauthorized"
	case errors.Is(err, errCrossOrigin):
		return "cross-origin"
	case errors.Is(err, errMisdirected):
		return "misdirected"
	case errors.Is(err, sale.ErrDraining):
		return "draining"
	case errors.Is(err, sale.ErrNoRung):
		return "no-such-rung"
	case errors.Is(err, sale.ErrUnavailable):
		return "rung-unavailable"
	case errors.Is(err, stock.ErrUnknown):
		return "outcome-unknown"
	case errors.Is(err, stock.ErrNoProduct):
		return "no-such-product"
	case errors.Is(err, stock.ErrSoldOut):
		return "sold-out"
	case errors.Is(err, stock.ErrCorrupt):
		return "stock-corrupt"
	case errors.Is(err, lock.ErrForeign):
		return "lock-corrupt"
	case errors.Is(err, lock.ErrBusy), errors.Is(err, stock.ErrContended):
		return "lock-busy"
	case errors.Is(err, lock.ErrLost):
		return "lease-lost"
	case errors.Is(err, lock.ErrExhausted):
		return "lease-exhausted"
	case errors.Is(err, stock.ErrStale):
		return "fence-stale"
	case errors.Is(err, context.Canceled):
		return "client-gone"
	}
	return "backend-away"
}

// fail sends the problem of err, with what is known of the order. It logs it unless the narration has it.
func (s *server) fail(c *gin.Context, err error, receipt sale.Receipt) {
	name := problemOf(err)
	p := problems[name]
	p.Detail = detail(name, err)
	if name == "lock-corrupt" {
		p.Detail += "; if nothing needs it, DELETE /locks/" + receipt.Product + " removes it"
	}
	p.Order, p.Rung = receipt.Order, receipt.Rung
	p.Lease, p.SoldBy, p.Trace = receipt.Lease, receipt.SoldBy, receipt.Trace
	s.send(c, name, p)
	if !receipt.Narrated {
		s.logProblem(c, name, p, err)
	}
}

// failAdmin sends the problem of err for a request that is not an order, and so has no outcome.
func (s *server) failAdmin(c *gin.Context, err error) {
	name := problemOf(err)
	p := problems[name]
	p.Detail, p.Outcome = detail(name, err), ""
	s.send(c, name, p)
	s.logProblem(c, name, p, err)
}

// send sends a problem.
func (s *server) send(c *gin.Context, name string, p Problem) {
	p.Type, p.Server = "/problems/"+name, s.Instance
	if retryAfter(name, p.Status) {
		c.Header("Retry-After", "1")
	}
	switch p.Status {
	case http.StatusUnauthorized:
		c.Header("WWW-Authenticate", "Bearer")
	case http.StatusUnsupportedMediaType:
		c.Header("Accept-Encoding", "identity")
	}
	c.Abort()
	c.Set(outcomeKey, name)
	c.Header("Content-Type", "application/problem+json")
	sendJSON(c, p.Status, p)
}

// detail returns the part of an error that is useful to the client. Errors of backends name hosts and ports: they are
// logged but not sent.
func detail(name string, err error) string {
	if errors.Is(err, lock.ErrNoQuorum) {
		return lock.ErrNoQuorum.Error()
	}
	switch name {
	case "backend-away", "internal":
		return "see the log of this instance"
	case "outcome-unknown":
		return "the write was sent, but its reply was lost"
	case "too-large":
		return "a body of more than 4 KiB is not read"
	case "client-gone":
		return ""
	}
	return strings.NewReplacer(errBadInput.Error()+": ", "", "\n", "; ").Replace(err.Error())
}
