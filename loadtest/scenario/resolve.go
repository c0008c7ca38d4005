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
	// resolving bounds how long a cell asks for the outcome of orders without an answer.
	resolving = 3 * time.Second
	// askers is the number of orders that it asks for at once, and askGap the pause before it asks again for an order
	// under way.
	askers = 16
	askGap = 50 * time.Millisecond
)

// resolve asks the instance of each order of unknown outcome what became of it. If the service cannot tell, because it
// has no such route, has forgotten the order or has died, the outcome stays unknown.
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

// askOutcome asks for one order until it has ended. It returns false if there is no certain answer.
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

// applyOutcome sets the outcome of an order, which has ended by now at the latest.
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
