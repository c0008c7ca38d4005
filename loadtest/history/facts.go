package history

import (
	"cmp"
	"time"
)

// Facts are the properties of a shop's lock that a trial learned from plain sales.
type Facts struct {
	Locks    []string      `json:"locks"`          // the keys that a sale changes before its write, and restores
	Kind     string        `json:"kind,omitempty"` // string, hash, zset …
	Acquire  string        `json:"acquire,omitempty"`
	TTL      time.Duration `json:"ttl"`       // 0: it has none
	TTLLater bool          `json:"ttl_later"` // a second command sets it
	InValue  time.Duration `json:"in_value"`  // a lease whose expiry is the value or the score of the lock; 0: none
	Token    bool          `json:"token"`     // the lock has a new value each time
	Name     bool          `json:"name"`      // each instance has a value of its own
	Release  string        `json:"release,omitempty"`
	Early    bool          `json:"released_early"` // the stock is written after the release
	Every    time.Duration `json:"renewed_every"`  // 0: it is not renewed
	Waiting  string        `json:"waiting,omitempty"`
	Fence    bool          `json:"fence"`           // the write carried a number that grew with every sale
	Patience time.Duration `json:"patience"`        // how long the client waits for a reply; 0: longer than a lease
	Resends  bool          `json:"resends"`         // after which it sends the command again
	Shared   bool          `json:"shared"`          // renewals use the connection of the sale
	Apart    string        `json:"apart,omitempty"` // "order" or "instance": each has a key of its own

	// PerCustomer means that each order has a lock of its own, by customer: no two can contend.
	PerCustomer bool `json:"per_customer,omitempty"`

	// Unseen means that two orders share a lock whose keys are unknown: one does not reach the stock while the other is
	// held before its write.
	Unseen bool `json:"unseen,omitempty"`

	// SoldOut is the answer that refuses an order for an empty stock; nil: unknown.
	SoldOut *Answer `json:"sold_out,omitempty"`
	// KeptSoldOut means that such an order leaves its lock held after its answer.
	KeptSoldOut bool `json:"kept_sold_out,omitempty"`
	// FreedTwice means that such an order gives back more than it took.
	FreedTwice bool `json:"freed_twice,omitempty"`

	Takes      time.Duration `json:"takes"`                 // a plain sale
	UnderLock  time.Duration `json:"under_lock,omitempty"`  // that part of it
	Elsewhere  bool          `json:"elsewhere,omitempty"`   // the stock is in no Redis, and its writes are not observed
	Requests   *Requests     `json:"requests,omitempty"`    // of a plain sale to the shop's database; nil: unknown
	LockFree   bool          `json:"lock_free,omitempty"`   // the write depends on the current stock
	Messages   bool          `json:"messages,omitempty"`    // waiters get messages
	Watches    bool          `json:"watches,omitempty"`     // the stock is written in a transaction that watches it
	Overwrites bool          `json:"overwrites,omitempty"`  // the acquire does not check that the lock is free
	ReadsEarly bool          `json:"reads_early,omitempty"` // the stock is read before the lock is held, and not under it
	ReadsTwice bool          `json:"reads_twice,omitempty"` // it is read before the lock is held, and under it
	ReadsNever bool          `json:"reads_never,omitempty"` // the stock is written and never read
}

// An Answer is the status and the clipped body of the answer to an order.
type Answer struct {
	Status int    `json:"status"`
	Body   string `json:"body,omitempty"`
}

// ExpiresInASale reports whether the lease is shorter than a plain sale holds the lock.
func (f *Facts) ExpiresInASale() bool { return f.TTL > 0 && f.TTL < cmp.Or(f.UnderLock, f.Takes) }

// IsAtomic reports whether one command reads and writes the stock: such a sale needs no lock.
func (f *Facts) IsAtomic() bool { return f.LockFree && f.ReadsNever }

// HasLock reports whether orders take a lock, be it shared or not.
func (f *Facts) HasLock() bool { return len(f.Locks) > 0 || f.Apart != "" || f.Unseen }

// Requests are the numbers of the requests that a plain sale sends to the shop's database, by the lock. One that is
// never answered, such as the close of a connection, is in no list.
type Requests struct {
	Before []int `json:"before,omitempty"` // sent before the acquire
	Under  []int `json:"under,omitempty"`  // sent under the lock
	After  []int `json:"after,omitempty"`  // sent after the release
}

// Lease returns how long the lock lasts unless it is renewed or released; 2 s for one without an expiry.
func (f *Facts) Lease() time.Duration { return cmp.Or(f.TTL, f.InValue, 2*time.Second) }
