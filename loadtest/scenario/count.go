package scenario

import (
	"context"
	"slices"
	"time"

	"stockapi/loadtest/audit"
	"stockapi/loadtest/history"
)

const (
	// readings bounds the readings of the stock, and readGap is the pause between two.
	readings = 12
	readGap  = 20 * time.Millisecond
	// doubtGap is the pause if the sales contradict the last reading, which may be late.
	doubtGap = 250 * time.Millisecond
	// doubts is the number of readings in a row that have to agree if nothing else says that the shop does wrong: 2 s.
	doubts = 9
)

// readLeft reads how much stock is left, from the instances that still answer and the shelf, in turn, until two
// readings agree: one may be late. Before a reading accuses the shop, more have to agree. If they do not, the stock
// stays unread, and the verdict on it unknown.
func (r *Runner) readLeft(ctx context.Context, c *history.Cell) {
	var sources []func(context.Context) (int64, error)
	for _, in := range c.Instances {
		sources = append(sources, func(ctx context.Context) (int64, error) { return r.Client.Stock(ctx, in.URL, c.Product) })
	}
	if r.Shelf != nil {
		sources = append(sources, r.Shelf)
	}
	sold := c.UnitsSold()
	var last *int64
	agreed := 0
	for n := 0; n < readings && len(sources) > 0; n++ {
		if n > 0 && !sleep(ctx, gapAfter(last, c.Initial-sold)) {
			return
		}
		at := n % len(sources)
		left, err := sources[at](ctx)
		if err != nil {
			// Its scenario may have killed it.
			sources = slices.Delete(sources, at, at+1)
			continue
		}
		if last != nil && *last == left {
			if agreed++; agreed >= doubts || !accuses(c, left) {
				c.Left = &left
				return
			}
			continue
		}
		last, agreed = &left, 1
	}
}

// accuses reports whether the stock's verdict is broken by this reading of it, and by nothing else.
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

// gapAfter returns how long to wait after a reading. wanted is what the sales leave.
func gapAfter(last *int64, wanted int64) time.Duration {
	if last == nil || *last == wanted {
		return readGap
	}
	return doubtGap
}

// sleep waits for d, and returns false if ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}
