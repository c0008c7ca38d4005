package scenario

import (
	"context"
	"time"

	"stockapi/loadtest/history"
)

const (
	// readings is how often the stock is read at most, and readGap the pause between two readings.
	readings = 12
	readGap  = 20 * time.Millisecond
	// doubtGap is the pause where the sales say that the stock is another: a reading may be late.
	doubtGap = 250 * time.Millisecond
)

// countUp reads what is left, from the instances that are still there to tell, in turn, until two readings agree: one
// may be late. If none is there, or they do not come to agree, it stays unread, and the stock's verdict unknown.
func (r *Runner) countUp(ctx context.Context, c *history.Cell) {
	if !r.Joint.First() {
		return // somebody else does
	}
	there, sold := c.Instances, unitsSold(c)
	var last *int64
	for n := 0; n < readings && len(there) > 0; n++ {
		if n > 0 && !sleep(ctx, gapAfter(last, c.Initial-sold)) {
			return
		}
		at := n % len(there)
		left, err := r.Client.Stock(ctx, there[at].URL, c.Product)
		if err != nil {
			there = append(append([]history.Instance(nil), there[:at]...), there[at+1:]...) // it is gone, as its scenario may have it
			continue
		}
		if last != nil && *last == left {
			c.Left = &left
			return
		}
		last = &left
	}
}

// gapAfter returns how long to wait after a reading, by what the sales leave.
func gapAfter(last *int64, wanted int64) time.Duration {
	if last == nil || *last == wanted {
		return readGap
	}
	return doubtGap
}

// unitsSold counts the units of the definite sales.
func unitsSold(c *history.Cell) (units int64) {
	for _, op := range c.All() {
		if op.Outcome == history.Sold {
			units += int64(len(op.Units))
		}
	}
	return units
}

// sleep waits, and reports whether it did to the end.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}
