package stock

import (
	"context"
	"errors"
	"sync"

	"stockapi/internal/batch"
)

// A bid is an order of a batch. The orders of a batch are for one product. They are sold in the order of their seats,
// as if each had held the lease in turn, but with one read and one write.
type bid struct {
	ctx   context.Context
	order Order
	left  int64
	err   error
}

// A bulk is the sale to one batch.
type bulk struct {
	lease  context.Context
	first  *bid // came first, and sells to all of them
	writer *bid // the first that is sold, in whose name the stock is written; nil: none was sold yet
}

// sellCombined is the fenced sale for a batch. An order whose client goes away gets nothing, without effect on the
// others. The orders are sold in the name of the one that wrote the stock, or of the one that came first if none was
// sold.
func (s *Shelf) sellCombined(ctx context.Context, o Order) (int64, error) {
	if o.Seat == nil {
		return s.Seller(Fenced)(ctx, o)
	}
	mine := &bid{ctx: ctx, order: o, err: ErrUnknown}
	batch.Come(o.Seat, o.ID, mine, func(lease context.Context, all []*bid) string {
		b := &bulk{lease: lease, first: mine}
		s.sellBatch(b, all)
		if b.writer == nil {
			return mine.order.ID
		}
		return b.writer.order.ID
	})
	return mine.left, mine.err
}

// under returns the context in which one order of a batch serves the others. It ends with the lease, not with that
// order's client.
func (b *bulk) under(one *bid) (context.Context, func()) {
	ctx, end := context.WithCancelCause(context.WithoutCancel(one.ctx))
	unhook := context.AfterFunc(b.lease, func() { end(context.Cause(b.lease)) })
	return ctx, func() {
		unhook()
		end(nil)
	}
}

// sellBatch reads the stock once, and sells to the orders of a batch for which there are units. If the work of some
// fails, another round sells their units to the rest.
func (s *Shelf) sellBatch(b *bulk, waiting []*bid) {
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

// divide returns the orders for which there are units, in order, and the rest.
func divide(orders []*bid, left int64) (fit, rest []*bid) {
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

// sellRound sells to these orders, for which there are enough units, and writes the stock once. It returns an error if
// the stock is unknown afterwards, or cannot be written.
func (s *Shelf) sellRound(b *bulk, round []*bid, left int64) (int64, error) {
	var working sync.WaitGroup
	for _, one := range round {
		working.Go(func() { one.err = doWork(one.ctx, one.order) })
	}
	working.Wait()
	var sold []*bid
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
	if b.writer == nil {
		b.writer = sold[0]
	}
	ctx, end := b.under(b.writer)
	defer end()
	err := s.writeFenced(ctx, b.writer.order, left)
	for _, one := range sold {
		one.err = err
	}
	if errors.Is(err, ErrUnknown) {
		return left, errors.New("not tried: the stock is unknown after a write before it: " + err.Error())
	}
	return left, err
}
