package attack

import (
	"context"
	"runtime"
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
	// First and Open, if set, take the place of Send for the first request of each worker in a closed loop. First makes
	// request i, calls ready as soon as nothing is left to do but to send it, and sends it when Open is called; it returns
	// as Send does. start waits until the barrier has fallen. Open returns when the last of them was sent.
	First func(ctx context.Context, ready func(), start func() time.Time, i int) history.Op
	Open  func() time.Time
	// Heart is asked whether the client got the processor; nil if nobody wants to know.
	Heart *Heart
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
	// Client is what the client saw of itself.
	Client *history.Client
}

// Run carries out the plan. If ctx ends before, it returns the cause: half a load proves nothing, least of all
// that a rung holds.
func Run(ctx context.Context, p Plan) (Result, error) {
	ctx, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	r := &run{Plan: p, due: schedule(p), gate: make(chan struct{}), giveUp: giveUp, account: newAccount()}
	if p.Keep == nil {
		r.ops = make([]history.Op, p.Requests)
	}
	workers := min(p.Concurrency, p.Requests)
	clocks := make([]*stopwatch, workers)
	var ready, finished sync.WaitGroup
	for w := range workers {
		clocks[w] = newStopwatch()
		ready.Add(1)
		finished.Go(func() { r.work(ctx, w, sync.OnceFunc(ready.Done), clocks[w]) })
	}
	ready.Wait()
	runtime.GC() // now, and so for a while not again: while it runs, all are late
	if p.Begin != nil {
		if err := p.Begin(ctx); err != nil {
			giveUp(err)
		}
	}
	watch := p.watch()
	opened := r.fall(ctx)
	finished.Wait()
	if ctx.Err() != nil {
		watch(&history.Client{})
		return Result{}, context.Cause(ctx)
	}
	result := Result{Start: r.start, Elapsed: time.Since(r.start), Ops: r.ops, Latency: merge(clocks), Client: r.account.client(p.Requests)}
	result.Client.Loop, result.Client.AskedRate = p.loop(), max(0, p.Rate)
	if p.Rate <= 0 {
		result.Client.Start = r.spread(workers, opened)
		result.Client.Rate = float64(result.Client.Delivered) / result.Elapsed.Seconds()
	}
	watch(result.Client)
	return result, nil
}

// watch begins to look at the heart, and returns what ends it.
func (p Plan) watch() func(*history.Client) {
	if p.Heart == nil {
		return func(*history.Client) {}
	}
	w := p.Heart.Watch()
	return func(c *history.Client) { c.Away, c.Longest = w.Stop() }
}

// run is a plan being carried out.
type run struct {
	Plan
	start   time.Time
	gate    chan struct{} // closed when start is set
	next    atomic.Int64
	due     []time.Duration
	giveUp  context.CancelCauseFunc
	account *account
	ops     []history.Op // each is written by the one worker that drew its number
}

// fall lets the barrier fall. It returns when the last request that stood ready had been sent, if any did.
func (r *run) fall(ctx context.Context) (opened time.Time) {
	r.start = time.Now()
	close(r.gate)
	if r.Open != nil && ctx.Err() == nil {
		opened = r.Open()
	}
	return opened
}

// spread is how long after the barrier the first requests of so many workers had been sent.
func (r *run) spread(workers int, opened time.Time) time.Duration {
	if !opened.IsZero() {
		return opened.Sub(r.start)
	}
	return time.Duration(r.account.started(workers))
}

// fallen waits until the barrier has fallen, and returns when that was.
func (r *run) fallen() time.Time {
	<-r.gate
	return r.start
}

func (r *run) work(ctx context.Context, worker int, ready func(), clock *stopwatch) {
	if r.Warm != nil {
		r.Warm(ctx, worker)
	}
	if r.First != nil && r.due == nil {
		i := int(r.next.Add(1)) - 1 // there are no more workers than requests
		op := r.First(ctx, ready, r.fallen, i)
		took := time.Now()
		ready()
		start := r.fallen()
		r.keep(i, r.file(op, start, max(0, took.Sub(start)), clock))
	}
	ready()
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
		op := r.Send(ctx, r.start, i)
		r.keep(i, r.file(op, due, time.Since(due), clock))
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

// file completes an op.
func (r *run) file(op history.Op, due time.Time, took time.Duration, clock *stopwatch) history.Op {
	op.Due, op.Latency = history.At(r.start, due), took
	r.account.add(&op)
	if op.Outcome != history.NotSent {
		clock.record(took)
	}
	if r.Done != nil {
		r.Done.Add(1)
	}
	return op
}
