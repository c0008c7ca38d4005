// Package contender holds the locks that are compared, each used as its own documentation says.
//
// Read contender.go and list.go, then a file for each library: rungs.go for the ladder of this repository; redsync.go,
// redislock.go and spin.go on goredis.go; rueidislock.go. limits.go bounds them all. Redisson runs on the JVM, in
// ../redisson.
package contender

import (
	"context"
	"time"

	"stockapi/internal/batch"
)

// A Kind says why a contender is here.
type Kind string

// The kinds.
const (
	Ours  Kind = "ours"  // a rung of the ladder
	Peer  Kind = "peer"  // a library that people use
	Limit Kind = "limit" // no lock server: what any lock around the same two commands is bounded by
)

// A Contender is one lock under measurement.
type Contender struct {
	Name  string
	Kind  Kind
	About string // how it locks and how it waits
	JVM   bool   // it runs in ../redisson, and Open is of no use
	Shape Shape
	open  func(Settings) (*Client, error)
}

// Open connects a process to the servers of a contender.
func (c Contender) Open(s Settings) (*Client, error) { return c.open(s) }

// A Shape says in how many processes a contender runs.
type Shape string

// The shapes.
const (
	Spread     Shape = ""            // in as many processes as are measured
	OneProcess Shape = "one process" // with the workers of all processes
	OneWorker  Shape = "one worker"
)

// Of returns the number of processes and of workers in each, where others run in that many.
func (s Shape) Of(processes, waiters int) (int, int) {
	switch s {
	case OneProcess:
		return 1, processes * waiters
	case OneWorker:
		return 1, 1
	default:
		return processes, waiters
	}
}

// Settings name the Redis and the keys of one measurement.
type Settings struct {
	URL    string `json:"url"`
	Prefix string `json:"prefix"` // of all keys
}

// Hot is the one lock that all workers want.
func (s Settings) Hot() string { return s.Prefix + "hot" }

// Product is the product that they sell.
func (s Settings) Product() string { return s.Prefix + "product" }

// A Client is one process's use of a contender.
type Client struct {
	// Lock waits until the lock called key is ours, or ctx ends.
	Lock func(ctx context.Context, key string) (Held, error)
	// Sell reads the stock and writes one less, under a lock that is held. It returns the number of the unit sold.
	Sell func(ctx context.Context, held Held) (unit int64, err error)
	// Close ends the client's connections. All locks must have been released.
	Close func()
}

// Held is a lock that is held.
type Held struct {
	Context context.Context // of the work under the lock
	Fence   int64           // the fencing token, 0 for none
	Seat    *batch.Seat     // in the batch that has the lease, nil for none
	Release func(ctx context.Context) error
}

// ttl is the lease that every contender asks for, if its library lets it choose. It is the article's.
const ttl = 30 * time.Second
