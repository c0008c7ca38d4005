package bench

import (
	"context"
	"slices"
	"sync"
	"time"

	"stockapi/loadtest/history"
)

// loop runs so many workers in a closed loop, first for the warm-up and then for the time of a measurement. It returns
// all that they sent, with times relative to the end of the warm-up. What is under way at the end is waited for.
func (b *bench) loop(
	ctx context.Context, workers int, send func(ctx context.Context, start time.Time, worker, i int) history.Op,
) ([]history.Op, error) {
	start := time.Now().Add(b.For / 4)
	end := start.Add(b.For)
	ops := make([][]history.Op, workers)
	var all sync.WaitGroup
	for w := range workers {
		all.Go(func() {
			for i := 0; i == 0 || ctx.Err() == nil && time.Now().Before(end); i++ {
				op := send(ctx, start, w, i)
				op.Phase = history.Buy
				ops[w] = append(ops[w], op)
			}
		})
	}
	all.Wait()
	return slices.Concat(ops...), context.Cause(ctx)
}

// timed does something, and returns it as an op that sold, or that did not if it failed.
func timed(start time.Time, do func() error) history.Op {
	sent := time.Now()
	err := do()
	done := time.Now()
	op := history.Op{
		Outcome: history.Sold, Sent: history.At(start, sent), Done: history.At(start, done), Latency: done.Sub(sent),
	}
	if err != nil {
		op.Outcome = history.NotSold
	}
	return op
}
