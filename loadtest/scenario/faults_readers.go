package scenario

import (
	"context"
	"strconv"
	"time"

	"stockapi/loadtest/client"
	"stockapi/loadtest/history"
)

const (
	readers = 20
	// keptOutAfter is the time after which a waiting reader counts as kept out: many times the delay between two of its
	// tries.
	keptOutAfter = 200 * time.Millisecond
)

// injectReadersAndWriter sends readers one after the other, each before the one ahead of it has left. A writer comes
// after the first reader, and the last reader stays until the writer has its answer. The writer is the fresh request
// that has to get through.
func injectReadersAndWriter(ctx context.Context, f *faultCell) error {
	if err := f.warmUp(ctx); err != nil {
		return err
	}
	inside := f.reader(ctx, 1)
	if err := inside.waitHeld(ctx); err != nil {
		return err
	}
	begun := time.Now()
	writer := f.send(ctx, b, "writer", history.Probe, client.Order{Wait: f.cell.Limit})
	for n := 2; n <= readers; n++ {
		next := f.reader(ctx, n)
		if err := next.waitHeldOrKeptOut(ctx); err != nil {
			return err
		}
		if err := inside.finish(ctx); err != nil {
			return err
		}
		if err := next.waitHeld(ctx); err != nil {
			return err
		}
		inside = next
	}
	if err := writer.waitAnswered(ctx); err != nil {
		return err
	}
	writer.recordFault(begun, "asking to write while %d readers came without a gap", readers)
	return inside.finish(ctx)
}

// reader sends reader number n, to the instances in turn. It is held while it holds the lock.
func (f *faultCell) reader(ctx context.Context, n int) *pending {
	return f.send(ctx, n%2, "reader-"+strconv.Itoa(n), history.Reading,
		client.Order{Fault: "hold@after:" + f.rung.Read, Wait: 2 * f.cell.Limit})
}

// waitHeldOrKeptOut waits until the order is held, or has waited for the lock for keptOutAfter. A slow machine gets
// more time, but so little that the writer, which waits meanwhile, does not run out of its own.
func (o *pending) waitHeldOrKeptOut(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, keptOutAfter+min(o.slack(), o.cell.Limit/4))
	defer cancel()
	_, err := o.waitHeldOrAnswered(ctx)
	if ctx.Err() != nil {
		return nil // kept out; if the caller's context has ended, its next step notices
	}
	return err
}
