package sale

import (
	"fmt"
	"slices"
	"time"

	"stockapi/loadtest/cause"
	"stockapi/loadtest/history"
	"stockapi/loadtest/wire"
)

// A Passport describes the lock of a shop, as learned from its commands.
type Passport struct {
	history.Facts

	AcquireArgs  []string // the command that takes the lock; nil if that is a transaction
	ReleaseVerbs []string // the verbs of the commands on the lock from the write on, with conditions, in lower case
	Compares     bool     // one of them compares the lock's value, and releases it, in one step
	LetsExpire   bool     // the holder gives the lock a shorter TTL after the write
	Joint        bool     // the command that writes the stock releases the lock
	Slow         bool     // there is a request for a slow order

	Lead time.Duration // how long an order takes until it first tries to acquire the lock

	ReadBack bool // the stock has to be read back after a write
	ByWrites bool // every answer looks like a sale: the writes of the stock decide

	ToDatabase Requests // of a plain sale to the database

	Own    string // "order" or "instance": each creates and removes a key of its own; "" if none does
	Claims bool   // that key has to be absent, like a lock
	// ClaimsProduct means that such a key names the product, like a lock of the stock.
	ClaimsProduct bool
	Lost          bool   // two customers' orders took one unit
	Fixed         string // a value of every order that is in the name of a key of the lock

	Steps                        []Step // of a plain sale
	Ahead                        int    // how many of them an order's program sends before the lock: these have no numbers
	Acquires, Releases, Renewals Shapes
	Writes                       Shapes
	Tries                        Shapes // of an order that waits: it may look before it acquires
	Background                   Shapes // of commands that the shop sends while no order is at work
	Late                         map[Kind]LateCommand
	Granted                      map[Shape]string // replies to acquires that succeeded, by shape; "": they differ
	Scripts                      []string         // sent in full by orders
	Ours                         map[string]bool  // digests of the scripts that several orders have sent; nil: any

	Keys   []wire.Lock                // the keys of the lock
	Held   map[wire.Key]wire.KeyState // the lock's keys while it is held
	EndsIn string                     // what names the end of the lease beside the lock; "": the lock itself does
}

// SetKeys sets the keys of the lock.
func (p *Passport) SetKeys(locks []wire.Lock) {
	p.Keys, p.Locks = locks, nil
	for i := range locks {
		p.Locks = append(p.Locks, locks[i].String())
	}
}

// OnLock reports whether a key belongs to the lock.
func (p *Passport) OnLock(name string) bool {
	return slices.ContainsFunc(p.Keys, func(l wire.Lock) bool { return l.Name == name })
}

// besideLock reports whether a key is a companion of the lock.
func (p *Passport) besideLock(name string) bool {
	return slices.ContainsFunc(p.companions(), func(l wire.Lock) bool { return l.Name == name })
}

// IsPart reports whether a part of the lock, or of a companion, has that name in every order.
func (p *Passport) IsPart(name string) bool {
	return slices.ContainsFunc(append(p.companions(), p.Keys...), func(l wire.Lock) bool {
		return slices.Contains(l.Parts, name)
	})
}

// companions returns the companions of the keys of the lock.
func (p *Passport) companions() (all []wire.Lock) {
	for _, lock := range p.Keys {
		all = append(all, lock.Companions...)
	}
	return all
}

// LeaseOf returns the TTL that a command gave the lock, 0 if it is the usual one.
func (p *Passport) LeaseOf(looker *wire.Looker, cmd *wire.Command, c *history.Command) time.Duration {
	i := slices.IndexFunc(p.Keys, func(l wire.Lock) bool { return l.String() == c.Key })
	if i < 0 || p.TTL == 0 || !Acquired(c) && !c.Prolongs() {
		return 0
	}
	_, after, _ := looker.States(cmd, p.Keys[i].Key)
	const toLook = 20 * time.Millisecond
	if lease := after.TTL(); lease > 0 && (lease-p.TTL).Abs() > toLook {
		return lease
	}
	return 0
}

// Closest returns the rung that is most like the lock.
func (p *Passport) Closest() string {
	family := cause.Family(&p.Facts)
	atOnce := p.Joint || p.Compares || slices.ContainsFunc(p.ReleaseVerbs, func(verb string) bool {
		return IsScript(verb) || verb == "watch"
	})
	switch {
	case family != "v4" || len(p.Locks) == 0:
		return family
	case p.TTL == 0 && p.InValue == 0 && !p.TTLLater:
		return "v1"
	case p.TTLLater:
		return "v1.5"
	case atOnce:
		return "v4"
	case len(p.ReleaseVerbs) > 1:
		return "v3"
	}
	return "v2"
}

// Requests are those of a plain sale to the shop's database, by number. One without a reply, such as the close of a
// connection, commits nothing: it counts neither as under the lock nor as after it.
type Requests struct {
	All      int
	Answered int    // the last one with a reply
	Before   []int  // sent before the lock was acquired
	Under    []int  // sent under the lock
	Replies  []int  // answered under it
	After    []int  // sent after its release
	Why      string // why none can be held; "" if they can
}

// String describes the requests of a sale, or why they are unknown.
func (r *Requests) String() string {
	if r.Why != "" {
		return r.Why
	}
	return fmt.Sprintf("a sale sends %d requests to the database, %d of them under the lock and %d after its release",
		r.All, len(r.Under), len(r.After))
}

// A LateCommand is one that each order sends after its answer.
type LateCommand struct {
	After time.Duration // how long after
	Only  bool          // no order sends such a command before its answer
}
