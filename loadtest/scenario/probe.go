package scenario

import (
	"context"
	"fmt"
	"time"

	"stockapi/loadtest/history"
)

const (
	// probeWait is how long one probe waits for the lock, probeGap the pause between two.
	probeWait = time.Second
	probeGap  = 100 * time.Millisecond
)

// probe sends fresh requests until one gets an answer that needed the lock, or the cell's limit is over. A probe
// wants one unit more than the shelf ever held: it has to take the lock and read the stock, and never buys.
func (r *Runner) probe(ctx context.Context, c *history.Cell) error {
	begun := time.Now()
	for try := 1; ; try++ {
		o := r.order(c, fmt.Sprintf("probe-%d", try), c.Initial+1)
		o.Wait = min(o.Wait, probeWait)
		due := time.Now()
		op := r.buy(ctx, c, c.Start, (try-1)%len(c.Instances), history.Probe, o)
		op.Due, op.Latency = history.At(c.Start, due), time.Since(due)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		c.Ops = append(c.Ops, op)
		through := op.Outcome == history.Sold || op.Outcome == history.Refused
		if through || time.Since(begun) > c.Limit {
			return nil
		}
		select {
		case <-time.After(probeGap):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
