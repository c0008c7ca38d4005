package scenario

import (
	"context"
	"time"

	"stockapi/loadtest/client"
	"stockapi/loadtest/history"
)

// injectNested lets a caller take its own lock again while it holds it. Later b holds the lock and the same caller
// comes again: it must not believe that it still holds the lock.
func injectNested(ctx context.Context, f *faultCell) error {
	if err := f.warmUp(ctx); err != nil {
		return err
	}
	begun := time.Now()
	first := f.order(ctx, a, "1", client.Order{Caller: 1, Nested: true})
	if err := first.waitAnswered(ctx); err != nil {
		return err
	}
	first.recordFault(begun, "asking again for the lock that it holds")
	second := f.order(ctx, b, "2", client.Order{Fault: "hold@before:" + f.rung.Write})
	if err := second.waitHeld(ctx); err != nil {
		return err
	}
	begun = time.Now()
	third := f.order(ctx, a, "3", client.Order{Caller: 1})
	if err := third.waitAnswered(ctx); err != nil {
		return err
	}
	if third.op.Outcome == history.Sold {
		third.recordFault(begun, "by a caller that had held the lock before")
	}
	f.nested = true
	return second.finish(ctx)
}

// injectSoldOutRestock sells from an empty shelf, fills the shelf, and buys again.
func injectSoldOutRestock(ctx context.Context, f *faultCell) error {
	url := f.cell.Instances[a].URL
	if err := f.Client.SetStock(ctx, url, f.cell.Product, 0); err != nil {
		return err
	}
	begun := time.Now()
	first := f.order(ctx, a, "1", client.Order{})
	if err := first.waitAnswered(ctx); err != nil {
		return err
	}
	if err := f.Client.SetStock(ctx, url, f.cell.Product, f.cell.Initial); err != nil {
		return err
	}
	first.recordFault(begun, "told that all is sold")
	// A timer that was left running acts after half a lease, which cannot be seen from outside: wait for a whole lease.
	select {
	case <-time.After(f.Load.TTL):
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return f.order(ctx, b, "2", client.Order{}).waitAnswered(ctx)
}
