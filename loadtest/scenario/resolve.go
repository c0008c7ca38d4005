package scenario

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"

	"stockapi/loadtest/history"
	"stockapi/loadtest/shop"
)

const (
	// resolving is how long a cell asks for the orders that nobody knows the outcome of.
	resolving = 3 * time.Second
	// askers is how many orders it asks for at once, and askGap the pause before it asks again for one under way.
	askers = 16
	askGap = 50 * time.Millisecond
)

// resolve asks for each order of unknown outcome what became of it, where it was sent. What a shop does not tell, because
// it has no such route, or has forgotten the order, or has died, stays unknown.
func (r *Runner) resolve(ctx context.Context, c *history.Cell) {
	bounded, cancel := context.WithTimeout(ctx, resolving)
	defer cancel()
	urls := map[string]string{}
	for _, in := range c.Instances {
		urls[in.Name] = in.URL
	}
	var all errgroup.Group
	all.SetLimit(askers)
	for i, op := range c.All() {
		url := urls[op.Instance]
		if op.Outcome != history.Unknown || url == "" {
			continue
		}
		if bounded.Err() != nil {
			break
		}
		id := op.Order
		all.Go(func() error {
			if told, ok := r.ask(bounded, url, id); ok {
				settle(c.At(i), told, history.At(c.Start, time.Now()))
			}
			return nil
		})
	}
	_ = all.Wait()
}

// ask asks for one order until it is over. It reports false where nothing certain is told.
func (r *Runner) ask(ctx context.Context, url, id string) (told shop.Told, ok bool) {
	for {
		told, err := r.Client.Order(ctx, url, id)
		if err != nil || told.Outcome == history.Unknown {
			return told, false
		}
		if told.Outcome != shop.Pending {
			return told, true
		}
		if !sleep(ctx, askGap) {
			return told, false
		}
	}
}

// settle writes down what became of an order. It was over by now at the latest.
func settle(op *history.Op, told shop.Told, now history.Instant) {
	op.Outcome, op.Resolved, op.Done = told.Outcome, true, now
	if told.Outcome == history.Sold {
		op.Units = told.Units
	}
}
