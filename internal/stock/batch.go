package stock

import (
	"context"
	"errors"
	"sync"
)

// A Seat is an order's place in a batch: orders of one product that hold one lease together. They are sold in the order
// of their seats, as if they had had the lease one after the other, but with one read and one write.
type Seat struct {
	batch *batch
	taken bool // the order has come, or will not come

	// Of an order that has come.
	ctx   context.Context
	order Order
	left  int64
	err   error
}

// A batch begins when all its orders have come.
type batch struct {
	lease  context.Context
	mu     sync.Mutex
	seats  []*Seat
	first  *Seat // the one that came first serves all of them
	shown  *Seat // the one that shows the lease: the first that is sold, which writes for all of them
	absent int   // how many may still come
	full   chan struct{}
	done   chan struct{}
}

// Seats returns the seats of a new batch. Each order has to come and buy, or to leave: the others wait for it. The
// context is that of the lease, which ends with none of the orders.
func Seats(lease context.Context, n int) []*Seat {
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

// SoldBy returns the order of the batch that shows the lease: the one that wrote the stock, or, if none was sold, the
// first that asks. It returns "" if that is this one, or if this one has not bought. Call it when the order has ended.
func (s *Seat) SoldBy() string {
	if s.ctx == nil {
		return ""
	}
	b := s.batch
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.shown == nil {
		b.shown = s
	}
	if b.shown == s {
		return ""
	}
	return b.shown.order.ID
}

// sellCombined is sellFenced for a batch. The order that came first serves all of them. An order whose client goes away
// gets nothing, and the others do not notice.
func (s *Shelf) sellCombined(ctx context.Context, o Order) (int64, error) {
	if o.Seat == nil {
		return s.sellFenced(ctx, o)
	}
	me, b := o.Seat, o.Seat.batch
	me.take(func() {
		me.ctx, me.order, me.err = ctx, o, ErrUnknown
		if b.first == nil {
			b.first = me
		}
	})
	if b.first != me {
		<-b.done
		return me.left, me.err
	}
	defer close(b.done)
	<-b.full
	s.sellBatch(b)
	return me.left, me.err
}

// under returns the context in which one order of a batch serves the others. It ends with the lease, not with that
// order's client.
func (b *batch) under(one *Seat) (context.Context, func()) {
	ctx, end := context.WithCancelCause(context.WithoutCancel(one.ctx))
	unhook := context.AfterFunc(b.lease, func() { end(context.Cause(b.lease)) })
	return ctx, func() {
		unhook()
		end(nil)
	}
}

// sellBatch reads the stock once, and sells to as many of a batch as there are units for. If the work of some fails,
// their units go to those for whom there were none, in another round.
func (s *Shelf) sellBatch(b *batch) {
	waiting := b.come()
	ctx, end := b.under(b.first)
	defer end()
	left, err := s.readFenced(ctx, b.first.order)
	for len(waiting) > 0 {
		round, rest := divide(waiting, left)
		if err == nil && len(round) == 0 {
			err = soldOut(left)
		}
		if err != nil {
			for _, one := range waiting {
				one.left, one.err = left, err
			}
			return
		}
		left, err = s.sellRound(b, round, left)
		waiting = rest
	}
}

// come returns the orders of a batch that have come.
func (b *batch) come() []*Seat {
	var come []*Seat
	for _, one := range b.seats {
		if one.ctx != nil {
			come = append(come, one)
		}
	}
	return come
}

// divide returns the orders for which there are units, in their order, and the rest.
func divide(orders []*Seat, left int64) (fit, rest []*Seat) {
	for _, one := range orders {
		if one.order.Quantity <= left {
			left -= one.order.Quantity
			fit = append(fit, one)
		} else {
			rest = append(rest, one)
		}
	}
	return fit, rest
}

// sellRound sells to these orders, all of whom there are units for, and writes what is left once. It returns an error
// if the stock is not known afterwards, or nothing can be written to it.
func (s *Shelf) sellRound(b *batch, round []*Seat, left int64) (int64, error) {
	var working sync.WaitGroup
	for _, one := range round {
		working.Go(func() { one.err = doWork(one.ctx, one.order) })
	}
	working.Wait()
	var sold []*Seat
	for _, one := range round {
		if one.err == nil && one.ctx.Err() != nil { // its lease ended while others were at work
			one.err = context.Cause(one.ctx)
		}
		if one.err == nil {
			left -= one.order.Quantity
			one.left = left
			sold = append(sold, one)
		}
	}
	if len(sold) == 0 {
		return left, nil
	}
	if b.shown == nil {
		b.shown = sold[0]
	}
	ctx, end := b.under(b.shown)
	defer end()
	err := s.writeFenced(ctx, b.shown.order, left)
	for _, one := range sold {
		one.err = err
	}
	if errors.Is(err, ErrUnknown) {
		return left, errors.New("not tried: the stock is unknown after a write before it: " + err.Error())
	}
	return left, err
}
