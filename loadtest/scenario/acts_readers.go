package scenario

import (
	"context"
	"strconv"
	"time"

	"stockapi/loadtest/history"
	"stockapi/loadtest/shop"
)

const (
	readers = 20
	// keptOut is how long a reader that is not inside has waited when it counts as kept out: many times the delay
	// between two of its tries.
	keptOut = 200 * time.Millisecond
)

// playReadersAndWriter lets readers come one after the other, each before the one ahead of it has left, as far as it gets
// in; the last one stays until the writer, which came after the first, has its answer. The writer is the fresh request
// that has to get through.
func playReadersAndWriter(ctx context.Context, p *play) error {
	if err := p.opening(ctx); err != nil {
		return err
	}
	inside := p.reader(ctx, 1)
	if err := inside.held(ctx); err != nil {
		return err
	}
	begun := time.Now()
	writer := p.send(ctx, b, "writer", history.Probe, shop.Order{Wait: p.cell.Limit})
	for n := 2; n <= readers; n++ {
		next := p.reader(ctx, n)
		if err := next.heldOrKeptOut(ctx); err != nil {
			return err
		}
		if err := inside.goesOn(ctx); err != nil {
			return err
		}
		if err := next.held(ctx); err != nil {
			return err
		}
		inside = next
	}
	if err := writer.answered(ctx); err != nil {
		return err
	}
	writer.suffered(begun, "asking to write while %d readers came without a gap", readers)
	return inside.goesOn(ctx)
}

// reader sends the n-th reader, to either instance in turn. It is held while it is inside.
func (p *play) reader(ctx context.Context, n int) *pending {
	return p.send(ctx, n%2, "reader-"+strconv.Itoa(n), history.Reading, shop.Order{Fault: "hold@after:" + p.rung.Read, Wait: 2 * p.cell.Limit})
}

// heldOrKeptOut waits until the order is inside, or has not got in for a while: on a slow machine longer, but not for so
// long that the writer, which waits meanwhile, comes too late by that alone.
func (o *pending) heldOrKeptOut(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, keptOut+min(o.slack(), o.cell.Limit/4))
	defer cancel()
	_, err := o.heldOrAnswered(ctx)
	if ctx.Err() != nil {
		return nil // kept out; the caller's own end shows at its next step
	}
	return err
}
