package scenario

import (
	"context"
	"slices"
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
	for part := range slices.Chunk(unknown(c), askers) {
		var all errgroup.Group
		for _, i := range part {
			op := *c.At(i)
			all.Go(func() error {
				told, ok := r.ask(bounded, urls[op.Instance], op.Order)
				if ok {
					settle(&op, told, history.At(c.Start, time.Now()))
					c.Set(i, &op)
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

// unknown returns the numbers of the orders whose outcome nobody knows.
func unknown(c *history.Cell) []int {
	var all []int
	for i, op := range c.All() {
		if op.Outcome == history.Unknown {
			all = append(all, i)
		}
	}
	return all
}

// ask asks for one order until it is over. It reports false where nothing certain is told.
func (r *Runner) ask(ctx context.Context, url, id string) (told shop.Told, ok bool) {
	if url == "" {
		return told, false
	}
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
