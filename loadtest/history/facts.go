package history

import (
	"cmp"
	"time"
)

// Facts are what a trial has learnt of a shop's lock from plain sales.
type Facts struct {
	Locks    []string      `json:"locks"`          // what each sale changes before it writes the stock, and changes back
	Kind     string        `json:"kind,omitempty"` // string, hash, zset …
	Acquire  string        `json:"acquire,omitempty"`
	TTL      time.Duration `json:"ttl"`       // 0: it has none
	TTLLater bool          `json:"ttl_later"` // a second command sets it
	InValue  time.Duration `json:"in_value"`  // a lease whose end is the value or the score of the lock; 0: it is not
	Token    bool          `json:"token"`     // the lock has a new value each time
	Name     bool          `json:"name"`      // each instance has a value of its own
	Release  string        `json:"release,omitempty"`
	Early    bool          `json:"released_early"` // the stock is written after the release
	Every    time.Duration `json:"renewed_every"`  // 0: it is not renewed
	Waiting  string        `json:"waiting,omitempty"`
	Fence    bool          `json:"fence"`           // a number that grew with every sale went along with the write
	Patience time.Duration `json:"patience"`        // until the client gives up on a reply; 0: longer than a lease
	Resends  bool          `json:"resends"`         // then it sends the command again
	Shared   bool          `json:"shared"`          // renewals come on the connection of the sale
	Apart    string        `json:"apart,omitempty"` // "order" or "instance": each has a key of its own

	// PerCustomer means that each order has a key of its own, and is another customer's: no two can meet.
	PerCustomer bool `json:"per_customer,omitempty"`

	// SoldOut is how an order of an empty shelf is refused; nil: that is not known.
	SoldOut *Answer `json:"sold_out,omitempty"`

	Takes      time.Duration `json:"takes"`                 // a plain sale
	Elsewhere  bool          `json:"elsewhere,omitempty"`   // the stock is in no Redis, and nobody sees it written
	LockFree   bool          `json:"lock_free,omitempty"`   // the write depends on the stock's current value
	Messages   bool          `json:"messages,omitempty"`    // waiters get messages
	Watches    bool          `json:"watches,omitempty"`     // the stock is written in a transaction that watches it
	Overwrites bool          `json:"overwrites,omitempty"`  // the acquire does not check that the lock is free
	ReadsEarly bool          `json:"reads_early,omitempty"` // the stock is read before the lock is held, and not under it
	ReadsTwice bool          `json:"reads_twice,omitempty"` // it is read before the lock is held, and under it
	ReadsNever bool          `json:"reads_never,omitempty"` // the stock is written and never read
}

// An Answer is the status and the body that an order was answered with. The body is clipped.
type Answer struct {
	Status int    `json:"status"`
	Body   string `json:"body,omitempty"`
}

// Lease returns how long the lock stays if nobody renews or releases it. One without an expiry is taken for 2 s.
func (f *Facts) Lease() time.Duration { return cmp.Or(f.TTL, f.InValue, 2*time.Second) }
