// Package batch serves the orders of one batch together: those that hold one lease of rung v19 at once. The lock gives
// each of them a [Seat]. The order that comes to its seat first waits for the others, and then serves all of them: that
// is flat combining. What an order is, and what it means to serve it, is the business of the shelf.
package batch

import (
	"context"
	"sync"
)

// A Seat is an order's place in a batch.
type Seat struct {
	batch *batch
	taken bool   // its order has come, or will not come
	order any    // nil: none has come
	id    string // of the order
	by    string // the id of the order that served it; "" for its own
}

// A batch begins when all its orders have come.
type batch struct {
	lease  context.Context
	mu     sync.Mutex
	seats  []*Seat
	first  *Seat // the one that came first serves all of them
	absent int   // how many may still come
	full   chan struct{}
	done   chan struct{}
}

// New returns the seats of a new batch. Each order has to come to its seat or to leave it: the others wait for it. The
// context is that of the lease, which ends with none of the orders.
func New(lease context.Context, n int) []*Seat {
	b := &batch{lease: lease, seats: make([]*Seat, n), absent: n, full: make(chan struct{}), done: make(chan struct{})}
	for i := range b.seats {
		b.seats[i] = &Seat{batch: b}
	}
	return b.seats
}

// Leave says that the order will not come. If it has come already, Leave does nothing.
func (s *Seat) Leave() { s.take(func() {}) }

func (s *Seat) take(come func()) {
	b := s.batch
	b.mu.Lock()
	defer b.mu.Unlock()
	if s.taken {
		return
	}
	s.taken = true
	come()
	if b.absent--; b.absent == 0 {
		close(b.full)
	}
}

// SoldBy returns the id of the order in whose name this one was sold. It returns "" if that is its own, if it has not
// come, or if there is no batch. Call it after [Come].
func (s *Seat) SoldBy() string {
	if s == nil {
		return ""
	}
	return s.by
}

// Come brings an order to its seat, and returns when it was served. Serve is called once for a batch, by the order that
// came first, with the context of the lease and all orders that have come, in the order of their seats. It returns the
// id of the order in whose name it has sold.
func Come[T any](s *Seat, id string, order T, serve func(lease context.Context, all []T) (by string)) {
	b := s.batch
	s.take(func() {
		s.order, s.id = order, id
		if b.first == nil {
			b.first = s
		}
	})
	if b.first != s {
		<-b.done
		return
	}
	defer close(b.done)
	<-b.full
	var orders []T
	var come []*Seat
	for _, one := range b.seats {
		if order, ok := one.order.(T); ok {
			orders, come = append(orders, order), append(come, one)
		}
	}
	by := serve(b.lease, orders)
	for _, one := range come {
		if one.id != by {
			one.by = by
		}
	}
}
