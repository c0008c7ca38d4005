package scenario

import (
	"context"
	"slices"
	"time"

	"stockapi/loadtest/audit"
	"stockapi/loadtest/history"
)

// lateBy is the largest delay of a reading of the stock.
const lateBy = 2 * time.Second

// readLeft reads the stock at the end, from an instance that still answers or from the store. The reading may be stale:
// one that breaks the stock verdict by itself counts only if another source agrees a while later. If that one breaks
// the verdict in another way, the stock stays unread, and the verdict on it unknown.
func (r *Runner) readLeft(ctx context.Context, c *history.Cell) {
	var sources []func(context.Context) (int64, error)
	for _, in := range c.Instances {
		sources = append(sources, func(ctx context.Context) (int64, error) { return r.Client.Stock(ctx, in.URL, c.Product) })
	}
	if r.Shelf != nil {
		sources = append(sources, r.Shelf)
	}
	left := readFirst(ctx, sources)
	if left != nil && accuses(c, *left) {
		if !sleep(ctx, lateBy) {
			return
		}
		slices.Reverse(sources)
		later := readFirst(ctx, sources)
		if later == nil || *later != *left && accuses(c, *later) {
			return
		}
		left = later
	}
	c.Left = left
}

// readFirst returns the stock by the first source that answers, nil if none does: a scenario may have killed instances.
func readFirst(ctx context.Context, sources []func(context.Context) (int64, error)) *int64 {
	for _, read := range sources {
		if left, err := read(ctx); err == nil {
			return &left
		}
	}
	return nil
}

// accuses reports whether only this reading breaks the stock verdict.
func accuses(c *history.Cell, left int64) bool {
	if left == c.Initial-c.UnitsSold() {
		return false
	}
	read := *c
	if audit.Stock(&read).Result == history.Broken { // it is not read yet
		return false
	}
	read.Left = &left
	return audit.Stock(&read).Result == history.Broken
}

// sleep waits for d. It returns false if ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}
