package load

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"stockapi/loadtest/history"
)

// A Plan describes one load.
type Plan struct {
	// Requests is the number of requests to send, whatever the concurrency.
	Requests int
	// Concurrency bounds the requests in flight.
	Concurrency int
	// Rate, if above 0, is how many requests fall due per second; the times are drawn beforehand. Without a rate the loop
	// is closed: a worker sends its next request when its last one has returned.
	Rate float64
	// WarmUp, if set, is called by each worker before the barrier. The release functions are called once all workers have
	// returned from it, so that each has opened its own connection.
	WarmUp func(ctx context.Context, worker int) (release func())
	// Send sends request i, from 0, and returns the result, with times relative to start. Latency counts from due.
	Send func(ctx context.Context, start, due time.Time, i int) history.Op
	// Stalls measures scheduling delays of the client; nil: not measured.
	Stalls *StallMeter
}

// A Measurement has the results of a plan.
type Measurement struct {
	// Start is when the barrier opened.
	Start   time.Time
	Elapsed time.Duration
	// Ops are the results of the requests, by number.
	Ops     []history.Op
	Latency history.Latency
	// Client has the client's own figures.
	Client *history.Client
}

// Run carries out the plan and returns its measurement. If ctx ends first, it returns the cause: part of a load proves
// nothing, least of all that a rung holds.
func Run(ctx context.Context, p Plan) (Measurement, error) {
	r := &run{Plan: p, due: schedule(p), barrier: make(chan struct{}), ops: make([]history.Op, p.Requests)}
	workers := min(p.Concurrency, p.Requests)
	var warm, ready, finished sync.WaitGroup
	warm.Add(workers)
	for w := range workers {
		ready.Add(1)
		finished.Go(func() { r.work(ctx, w, &warm, &ready) })
	}
	ready.Wait()
	runtime.GC() // so that none is due during the load: it would delay every request
	r.start = time.Now()
	close(r.barrier)
	finished.Wait()
	if ctx.Err() != nil {
		return Measurement{}, context.Cause(ctx)
	}
	result := Measurement{Start: r.start, Elapsed: time.Since(r.start), Ops: r.ops}
	result.Client, result.Latency = figures(r.ops)
	result.Client.Loop, result.Client.AskedRate = "open", p.Rate
	if p.Rate <= 0 {
		result.Client.Loop, result.Client.AskedRate = "closed", 0
		result.Client.Start = time.Duration(started(r.ops, workers))
		result.Client.Rate = float64(result.Client.Delivered) / result.Elapsed.Seconds()
	}
	result.Client.Away, result.Client.Longest = p.Stalls.Since(r.start)
	return result, nil
}

// A run is a plan in progress.
type run struct {
	Plan
	start   time.Time
	barrier chan struct{} // closed once start is set
	next    atomic.Int64
	due     []time.Duration
	ops     []history.Op
}

func (r *run) work(ctx context.Context, worker int, warm, ready *sync.WaitGroup) {
	release := func() {}
	if r.WarmUp != nil {
		release = r.WarmUp(ctx, worker)
	}
	warm.Done()
	warm.Wait()
	release()
	ready.Done()
	<-r.barrier
	for ctx.Err() == nil {
		i := int(r.next.Add(1)) - 1
		if i >= r.Requests {
			return
		}
		due, ok := r.waitDue(ctx, i)
		if !ok {
			return
		}
		r.ops[i] = r.Send(ctx, r.start, due, i)
	}
}
