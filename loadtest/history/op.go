package history

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// An Outcome is the outcome of an order. There are six and not two: a failed request may still have sold, a busy answer
// shows nothing of the stock, and an unsent request nothing of the shop.
type Outcome string

const (
	// Sold is a 200: the service names the units that it sold.
	Sold Outcome = "sold"
	// Refused is a 409: the lock was acquired, the stock was read, and it was too small.
	Refused Outcome = "refused"
	// Busy is a 423: the order did not acquire the lock in the time allowed. The stock is unchanged.
	Busy Outcome = "busy"
	// NotSold is any other result that rules a sale out, such as a 503 that declares it, or a failed connection.
	NotSold Outcome = "not-sold"
	// NotSent is an order that the client could not send, for lack of files, ports or time.
	NotSent Outcome = "not-sent"
	// Unknown is everything else: no answer, or an inconclusive one. The order may have sold, or may still sell.
	Unknown Outcome = "unknown"
)

// A Phase is the purpose of an op.
type Phase string

const (
	// Buy is an order of the load itself.
	Buy Phase = "buy"
	// Probe is an order that was sent afterwards, to see whether a fresh request gets through.
	Probe Phase = "probe"
	// Reading is an order for no units: it reads the stock, under a lock that it shares with other readers.
	Reading Phase = "read"
)

// An Op is one request and its result. Due, Sent and Done are by the client's clock; the lease and the trace by the
// clock of the instance that answered.
type Op struct {
	// Order is unique within a cell; the service knows the order by the same id.
	Order    string  `json:"order"`
	Phase    Phase   `json:"phase"`
	Instance string  `json:"instance"`
	Outcome  Outcome `json:"outcome"`
	// Status is the HTTP status, 0 if there was no answer. Detail is the error message of the service or of the client.
	Status int    `json:"status,omitempty"`
	Detail string `json:"detail,omitempty"`

	// Due is when the order should have been sent. In an open loop it may be before Sent, and latency counts from it.
	Due     Instant       `json:"due"`
	Sent    Instant       `json:"sent"`
	Done    Instant       `json:"done"`
	Latency time.Duration `json:"latency"`

	Quantity int64 `json:"quantity"`
	Left     int64 `json:"left,omitempty"`
	// Units are those that a 200 names, even if the rest of it does not match the order.
	Units []int64 `json:"units,omitempty"`
	// For is the order that the answer names, if it is another one.
	For string `json:"for,omitempty"`
	// Resolved means that the outcome was looked up at the service later, since no answer contained it.
	Resolved bool    `json:"resolved,omitempty"`
	WaitedMS float64 `json:"waited_ms,omitempty"`
	Lease    *Lease  `json:"lease,omitempty"`
	// GaveUp is why its customer stopped waiting for the answer, "" if it came. Its instance may have worked on.
	GaveUp GaveUp `json:"gave_up,omitempty"`
	// SoldBy is the order under whose lease this one was served, if the service returns that and no lease.
	SoldBy string    `json:"sold_by,omitempty"`
	Trace  []Command `json:"trace,omitempty"`
}

// A GaveUp is why a customer stopped waiting.
type GaveUp string

// The customer hung up, or reached the time limit of an order.
const (
	HungUp   GaveUp = "hung-up"
	TimedOut GaveUp = "timed-out"
)

// Over returns when the customer stopped waiting, with an answer or without.
func (o *Op) Over() Instant {
	if o.Done.Known() {
		return o.Done
	}
	return o.Due + Instant(o.Latency)
}

// Answer returns the status of the order's answer or, if a program sent the order, how that ended: 409, exit 1.
func (o *Op) Answer() string {
	if o.Status == 0 {
		end, _, _ := strings.Cut(o.Detail, ":")
		return end
	}
	return strconv.Itoa(o.Status)
}

// KilledBeforeWrite sets an unknown outcome to NotSold, since the process was killed before it sent the order's write
// of the stock. Any other outcome stays.
func (o *Op) KilledBeforeWrite(process string) {
	if o.Outcome != Unknown {
		return
	}
	o.Outcome, o.Done = NotSold, o.Over()
	o.Detail = fmt.Sprintf("%s was killed before this order's write of the stock was sent; %s", process, o.Detail)
}

// LastWrite returns the last write of the stock by an order that sold, or that is known to have taken units; nil if its
// trace has none.
func (o *Op) LastWrite() *Command {
	if o.Outcome != Sold && len(o.Units) == 0 {
		return nil
	}
	for i := len(o.Trace) - 1; i >= 0; i-- {
		if o.Trace[i].Wrote() {
			return &o.Trace[i]
		}
	}
	return nil
}

// A Lease is the span in which an order certainly believed that it held the lock: AcquiredAt was read after the acquire
// had returned, ReleasedAt before the release was sent.
type Lease struct {
	Token      string  `json:"token"`
	Fence      int64   `json:"fence"`
	AcquiredAt Instant `json:"acquired_at"`
	ReleasedAt Instant `json:"released_at"`
	Lost       bool    `json:"lost,omitempty"`
	// Noticed means that the holder noticed the loss in time and therefore wrote nothing.
	Noticed bool `json:"noticed,omitempty"`
}

// Until returns the last instant at which the holder is known to have believed in its lease.
func (l *Lease) Until() Instant {
	if l.ReleasedAt.Known() {
		return l.ReleasedAt
	}
	return l.AcquiredAt
}

// A Command is one Redis command of an order: At is before it was sent, End after its reply was read. It took effect in
// between, unless no reply came. Cmd, Reply and Err are as they were sent, whatever the effect.
type Command struct {
	Node  string  `json:"node"`
	Cmd   string  `json:"cmd"`
	Key   string  `json:"key"`
	At    Instant `json:"at"`
	End   Instant `json:"end"`
	Reply string  `json:"reply,omitempty"`
	Err   string  `json:"err,omitempty"`
	// Effect is the observed effect, if any, and Source the means by which it became known.
	Source Source `json:"source,omitempty"`
	Effect Effect `json:"effect,omitempty"`
	// Wire is nil if no wire carried it.
	Wire *Carried `json:"wire,omitempty"`
}
