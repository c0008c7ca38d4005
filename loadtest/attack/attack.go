package attack

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"stockapi/loadtest/history"
)

// Plan is one load.
type Plan struct {
	// Requests are sent exactly, whatever the concurrency: nothing is rounded, nothing is dropped.
	Requests int
	// Concurrency is how many are under way at once at most.
	Concurrency int
	// Rate, if above 0, is how many requests per second fall due, drawn beforehand from Seed. Without it the
	// loop is closed: a worker sends its next request when its last has returned.
	Rate float64
	Seed uint64
	// Warm, if set, is called by each worker before the barrier, so that connections need not be made after it.
	Warm func(ctx context.Context, worker int)
	// Begin, if set, is called when all workers are ready. They start when it returns, unless it fails.
	Begin func(ctx context.Context) error
	// Send sends request number i, from 0, and returns what became of it, with times relative to start.
	Send func(ctx context.Context, start time.Time, i int) history.Op
	// Keep, if set, is given each op as soon as there is one, by whichever worker sent it, and the result has none. If it
	// fails, the run ends.
	Keep func(op *history.Op) error
	// Done, if set, counts the requests that have returned.
	Done *atomic.Int64
}

// Result is what came of a plan.
type Result struct {
	// Start is when the barrier fell.
	Start   time.Time
	Elapsed time.Duration
	// Ops are in the order of their numbers, unless Plan.Keep took them.
	Ops     []history.Op
	Latency history.Latency
}

// Run carries out the plan. If ctx ends before, it returns the cause: half a load proves nothing, least of all
// that a rung holds.
func Run(ctx context.Context, p Plan) (Result, error) {
	ctx, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	r := &run{Plan: p, due: schedule(p), gate: make(chan struct{}), giveUp: giveUp}
	if p.Keep == nil {
		r.ops = make([]history.Op, p.Requests)
	}
	workers := min(p.Concurrency, p.Requests)
	clocks := make([]*stopwatch, workers)
	var ready, finished sync.WaitGroup
	for w := range workers {
		clocks[w] = newStopwatch()
		ready.Add(1)
		finished.Go(func() { r.work(ctx, w, &ready, clocks[w]) })
	}
	ready.Wait()
	if p.Begin != nil {
		if err := p.Begin(ctx); err != nil {
			giveUp(err)
		}
	}
	r.start = time.Now()
	close(r.gate)
	finished.Wait()
	if ctx.Err() != nil {
		return Result{}, context.Cause(ctx)
	}
	return Result{Start: r.start, Elapsed: time.Since(r.start), Ops: r.ops, Latency: merge(clocks)}, nil
}

// run is a plan being carried out.
type run struct {
	Plan
	start  time.Time
	gate   chan struct{}
	next   atomic.Int64
	due    []time.Duration
	giveUp context.CancelCauseFunc
	ops    []history.Op // each is written by the one worker that drew its number
}

func (r *run) work(ctx context.Context, worker int, ready *sync.WaitGroup, clock *stopwatch) {
	if r.Warm != nil {
		r.Warm(ctx, worker)
	}
	ready.Done()
	<-r.gate
	for ctx.Err() == nil {
		i := int(r.next.Add(1)) - 1
		if i >= r.Requests {
			return
		}
		due, ok := r.await(ctx, i)
		if !ok {
			return
		}
		r.keep(i, r.send(ctx, i, due, clock))
	}
}

func (r *run) keep(i int, op history.Op) {
	if r.Keep == nil {
		r.ops[i] = op
		return
	}
	if err := r.Keep(&op); err != nil {
		r.giveUp(err)
	}
}

func (r *run) send(ctx context.Context, i int, due time.Time, clock *stopwatch) history.Op {
	op := r.Send(ctx, r.start, i)
	op.Due = history.At(r.start, due)
	op.Latency = time.Since(due)
	clock.record(op.Latency)
	if r.Done != nil {
		r.Done.Add(1)
	}
	return op
}
