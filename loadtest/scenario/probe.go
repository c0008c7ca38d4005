package scenario

import (
	"context"
	"fmt"
	"time"

	"stockapi/loadtest/history"
	"stockapi/loadtest/rig"
)

const (
	// probeWait is one probe's max wait for the lock.
	probeWait = time.Second
	// maxQuantity is the most units that the service sells in one order by default.
	maxQuantity = 1000
)

// Probe sends fresh requests, to the instances with these numbers in turn, until one gets an answer that needed the
// lock, or the cell's limit is over. Nested ones acquire the lock once more while they hold it, so they have to sell.
func (r *Runner) Probe(ctx context.Context, c *history.Cell, to []int, nested bool) error {
	quantity := int64(1)
	if !nested {
		quantity = r.probeQuantity(ctx, c, to[0])
	}
	return rig.Fresh(ctx, c.Limit, func(number int) (through bool) {
		o := r.order(c, fmt.Sprintf("probe-%d", number), quantity)
		o.Wait, o.Nested = min(o.Wait, probeWait), nested
		op := r.buy(ctx, c, c.Start, time.Now(), to[(number-1)%len(to)], history.Probe, o)
		if ctx.Err() == nil {
			c.Ops = append(c.Ops, op)
		}
		return op.Outcome == history.Sold || op.Outcome == history.Refused
	})
}

// probeQuantity is one unit more than is left, if an order may ask for that many: such a probe has to acquire the lock
// and read the stock, and changes nothing.
func (r *Runner) probeQuantity(ctx context.Context, c *history.Cell, at int) int64 {
	left, err := r.Client.Stock(ctx, c.Instances[at].URL, c.Product)
	if err != nil || left < 0 || left >= maxQuantity {
		return 1
	}
	return left + 1
}
