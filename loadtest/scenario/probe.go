package scenario

import (
	"context"
	"fmt"
	"time"

	"stockapi/loadtest/history"
)

const (
	// probeWait is one probe's max wait for the lock, probeGap the pause between two probes.
	probeWait = time.Second
	probeGap  = 100 * time.Millisecond
	// maxQuantity is the most units that the service sells in one order by default.
	maxQuantity = 1000
)

// Probe sends fresh requests, to the instances of those numbers in turn, until one gets an answer that needed the lock,
// or the cell's limit is over. Nested ones take the lock once more while they hold it, so they have to sell.
func (r *Runner) Probe(ctx context.Context, c *history.Cell, to []int, nested bool) error {
	quantity, begun := int64(1), time.Now()
	if !nested {
		quantity = r.probeQuantity(ctx, c, to[0])
	}
	for try := 1; ; try++ {
		o := r.order(c, fmt.Sprintf("probe-%d", try), quantity)
		o.Wait, o.Nested = min(o.Wait, probeWait), nested
		op := r.buy(ctx, c, c.Start, time.Now(), to[(try-1)%len(to)], history.Probe, o)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		c.Ops = append(c.Ops, op)
		through := op.Outcome == history.Sold || op.Outcome == history.Refused
		if through || time.Since(begun) > c.Limit {
			return nil
		}
		if !sleep(ctx, probeGap) {
			return context.Cause(ctx)
		}
	}
}

// probeQuantity is one unit more than is left, if an order may ask for that many: such a probe has to take the lock and
// read the stock, and changes nothing.
func (r *Runner) probeQuantity(ctx context.Context, c *history.Cell, at int) int64 {
	left, err := r.Client.Stock(ctx, c.Instances[at].URL, c.Product)
	if err != nil || left < 0 || left >= maxQuantity {
		return 1
	}
	return left + 1
}
