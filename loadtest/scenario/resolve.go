package scenario

import (
	"context"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"stockapi/loadtest/client"
	"stockapi/loadtest/history"
)

const (
	// resolving bounds the time in which a cell looks up the outcome of unanswered orders.
	resolving = 3 * time.Second
	// askers is the number of concurrent lookups, and askGap the pause before the next lookup of an order in flight.
	askers = 16
	askGap = 50 * time.Millisecond
)

// resolve looks up each order of unknown outcome at its instance. If the service has no such route, has forgotten the
// order or has died, the outcome stays unknown.
func (r *Runner) resolve(ctx context.Context, c *history.Cell) {
	if !c.AnyUnknown() {
		return
	}
	bounded, cancel := context.WithTimeout(ctx, resolving)
	defer cancel()
	urls := map[string]string{}
	for _, in := range c.Instances {
		urls[in.Name] = in.URL
	}
	for part := range slices.Chunk(unknown(c), askers) {
		var all errgroup.Group
		for _, op := range part {
			all.Go(func() error {
				status, ok := r.askOutcome(bounded, urls[op.Instance], op.Order)
				if ok {
					applyOutcome(op, status, history.At(c.Start, time.Now()))
				}
				return nil
			})
		}
		_ = all.Wait()
		if bounded.Err() != nil {
			return
		}
	}
}

// unknown returns the orders of unknown outcome.
func unknown(c *history.Cell) []*history.Op {
	var all []*history.Op
	for i := range c.Ops {
		if op := &c.Ops[i]; op.Outcome == history.Unknown {
			all = append(all, op)
		}
	}
	return all
}

// askOutcome polls one order until it has ended. It returns false if there is no certain answer.
func (r *Runner) askOutcome(ctx context.Context, url, id string) (status client.OrderStatus, ok bool) {
	if url == "" {
		return status, false
	}
	for {
		status, err := r.Client.Order(ctx, url, id)
		if err != nil || status.Outcome == history.Unknown {
			return status, false
		}
		if status.Outcome != client.Pending {
			return status, true
		}
		if !sleep(ctx, askGap) {
			return status, false
		}
	}
}

// applyOutcome sets the outcome of an order that has ended.
func applyOutcome(op *history.Op, status client.OrderStatus, now history.Instant) {
	op.Outcome, op.Resolved, op.Done = status.Outcome, true, now
	if status.SoldBy != "" {
		op.SoldBy = status.SoldBy
	}
	if status.Outcome == history.Sold {
		op.Units = status.Units
	}
	op.Bound()
}
