package worker

import (
	"context"
	"fmt"
	"sync"
	"time"

	"stockapi/bench/contender"
)

// afterFailure keeps a worker from failing thousands of times a second.
const afterFailure = 10 * time.Millisecond

// A window is the time that counts. Operations begin until its end, and some before its beginning.
type window struct{ begin, end time.Time }

func (w window) has(t time.Time) bool { return !t.Before(w.begin) && t.Before(w.end) }

// measure lets all workers of a process work until the window's end, and waits for the last of them. If ctx ends, they
// end too.
func measure(ctx context.Context, job Job, client *contender.Client) Result {
	begin := time.Now().Add(milliseconds(job.WarmUpMS))
	w := window{begin: begin, end: begin.Add(milliseconds(job.ForMS))}
	drained := milliseconds(job.DrainMS)
	ctx, cancel := context.WithDeadlineCause(ctx, w.end.Add(drained),
		fmt.Errorf("still waiting %s after the measurement ended", drained))
	defer cancel()
	tallies := make([]Tally, job.Workers)
	var all sync.WaitGroup
	for i := range tallies {
		all.Go(func() { tallies[i].work(ctx, w, operation(job, client, i)) })
	}
	all.Wait()
	return Result{Workers: tallies}
}

// An operate does one operation. It returns the unit that it sold, 0 for none; even with an error a unit may be sold.
type operate func(ctx context.Context) (unit int64, err error)

func operation(job Job, client *contender.Client, worker int) operate {
	key := fmt.Sprintf("%sfree:%d:%d", job.Prefix, job.Process, worker)
	if job.Workload == Hot {
		key = job.Hot()
	}
	return func(ctx context.Context) (unit int64, err error) {
		held, err := client.Lock(ctx, key)
		if err != nil {
			return 0, err
		}
		if job.Workload == Hot {
			unit, err = client.Sell(held.Context, held)
		}
		released := held.Release(ctx)
		if err != nil {
			return 0, err
		}
		return unit, released
	}
}

// work repeats an operation until the window ends.
func (t *Tally) work(ctx context.Context, w window, do operate) {
	for {
		begun := time.Now()
		if !begun.Before(w.end) || ctx.Err() != nil {
			return
		}
		unit, err := do(ctx)
		if err != nil && ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		t.record(w, begun, time.Now(), unit, err)
		if err != nil {
			time.Sleep(afterFailure)
		}
	}
}

func (t *Tally) record(w window, begun, done time.Time, unit int64, err error) {
	if w.has(begun) {
		t.TookUS = append(t.TookUS, done.Sub(begun).Microseconds())
	}
	if unit > 0 {
		t.Sold = append(t.Sold, unit)
	}
	if err != nil {
		if t.Failed++; t.Error == "" {
			t.Error = err.Error()
		}
		return
	}
	if w.has(done) {
		t.Done++
	}
}
