package history

import "time"

// Outcome is what became of an order. There are six and not two: a request that failed has not thereby failed
// to sell, a shop that is busy has said nothing about its stock, and what never left the client says nothing of the shop.
type Outcome string

const (
	// Sold is a 200: the service names the units it sold.
	Sold Outcome = "sold"
	// Refused is a 409: the lock was acquired, the stock was read, and it did not suffice.
	Refused Outcome = "refused"
	// Busy is a 423: the lock was not had in the time allowed. The stock is untouched.
	Busy Outcome = "busy"
	// NotSold is any other answer that rules a sale out, such as a 503 that says so, or a connection that was
	// never made.
	NotSold Outcome = "not-sold"
	// NotSent is an order that the client could not send, for lack of files, ports or time. The service has no part in it.
	NotSent Outcome = "not-sent"
	// Unknown is everything else: the answer never came, or it does not say. The order may have been sold, and
	// may yet be sold.
	Unknown Outcome = "unknown"
)

// Phase says what an op was sent for.
type Phase string

const (
	// Buy is an order of the load itself.
	Buy Phase = "buy"
	// Probe is an order sent afterwards, to see whether a fresh request gets through.
	Probe Phase = "probe"
	// Reading is an order for no units: it reads the stock, under a lock that it shares with others like it.
	Reading Phase = "read"
)

// Op is one request and what came of it. Due, Sent and Done are by the client's clock; the lease and the trace
// are by the clock of the instance that answered.
type Op struct {
	// Order is unique within a cell; the service knows the order by the same name.
	Order    string  `json:"order"`
	Phase    Phase   `json:"phase"`
	Instance string  `json:"instance"`
	Outcome  Outcome `json:"outcome"`
	// Status is the HTTP status, 0 if there was no answer. Detail says what was wrong, in the service's words
	// or in the client's.
	Status int    `json:"status,omitempty"`
	Detail string `json:"detail,omitempty"`

	// Due is when the order should have been sent. In an open loop it may lie before Sent, and latency counts
	// from it.
	Due     Instant       `json:"due"`
	Sent    Instant       `json:"sent"`
	Done    Instant       `json:"done"`
	Latency time.Duration `json:"latency"`

	Quantity int64 `json:"quantity"`
	Left     int64 `json:"left,omitempty"`
	// Units are those that a 200 names, also where the rest of it does not fit the order.
	Units []int64 `json:"units,omitempty"`
	// For is the order that the answer names, if that is another one.
	For string `json:"for,omitempty"`
	// Resolved says that no answer told the outcome, and that the service told it when it was asked for the order later.
	Resolved bool      `json:"resolved,omitempty"`
	WaitedMS float64   `json:"waited_ms,omitempty"`
	Lease    *Lease    `json:"lease,omitempty"`
	Trace    []Command `json:"trace,omitempty"`
}

// Lease is the time in which an order definitely believed to hold the lock: AcquiredAt was read after the
// acquire had returned, ReleasedAt before the release was sent.
type Lease struct {
	Token      string  `json:"token"`
	Fence      int64   `json:"fence"`
	AcquiredAt Instant `json:"acquired_at"`
	ReleasedAt Instant `json:"released_at"`
	Lost       bool    `json:"lost,omitempty"`
	// Noticed is whether its holder found it lost in time, and wrote nothing for that reason.
	Noticed bool `json:"noticed,omitempty"`
}

// Command is one Redis command of an order: At is before it was sent, End after its reply was read. Whatever it
// did to the key, it did in between, unless Err says that no reply came.
type Command struct {
	Node  string  `json:"node"`
	Cmd   string  `json:"cmd"`
	Key   string  `json:"key"`
	At    Instant `json:"at"`
	End   Instant `json:"end"`
	Reply string  `json:"reply,omitempty"`
	Err   string  `json:"err,omitempty"`
}
