package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"golang.org/x/sync/errgroup"

	"stockapi/bench/contender"
	"stockapi/bench/figures"
	"stockapi/bench/fleet"
	"stockapi/bench/worker"
)

const (
	units    = 1_000_000_000 // in stock, more than anybody sells
	stockTTL = time.Hour     // whatever happens, nothing stays behind for longer

	// drain is how long waiters may go on waiting after a measurement. Without it the longest waits would be missing from
	// the percentiles.
	drain = 10 * time.Second
	// patience is how much later than that a process may answer.
	patience = 15 * time.Second

	// A JVM compiles what runs often. Its first job gets time for that.
	firstOnJVM = 5 * time.Second
	leastOnJVM = time.Second
)

// A bench is what measurements run on. The workers stay for the whole run, as they would be in use: a new JVM is slow.
type bench struct {
	flags     *flags
	server    *fleet.Server
	prefix    string                    // of all keys of this run
	commands  map[bool][]string         // that start a worker, false: of this program; true: on the JVM
	processes map[bool][]*fleet.Process // that were started so
	temp      string                    // a directory to remove at the end, empty if there is none
}

// measure does one measurement.
func (b *bench) measure(ctx context.Context, s step) (figures.Sample, error) {
	keys := contender.Keys{Prefix: fmt.Sprintf("%s%d:", b.prefix, s.number)}
	defer b.clean(ctx, keys.Prefix)
	if err := contender.PutStock(ctx, b.server.URL, keys, units, stockTTL); err != nil {
		return figures.Sample{}, err
	}
	sample := figures.Sample{Contender: s.contender.Name, Kind: s.contender.Kind, Workload: s.workload,
		Waiters: s.waiters, Round: s.round, Length: b.flags.For}
	results, commands, err := b.let(ctx, s, keys)
	if err != nil {
		b.end(s.contender.JVM)
		return sample, err
	}
	sample.Count(results, commands)
	if s.workload == worker.Hot {
		var left int64
		left, err = contender.StockLeft(ctx, b.server.URL, keys)
		sample.Broken = figures.Check(units, left, results)
	}
	return sample, err
}

// clean removes the keys of a measurement, also after the run was interrupted.
func (b *bench) clean(ctx context.Context, prefix string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	_ = b.server.Clean(ctx, prefix)
}

// end ends the workers of a kind: they are busy, or dead. The next measurement starts others.
func (b *bench) end(jvm bool) {
	fleet.CloseAll(b.processes[jvm])
	b.processes[jvm] = nil
}

func (b *bench) close() {
	b.end(false)
	b.end(true)
	if b.temp != "" {
		_ = os.RemoveAll(b.temp)
	}
}

// let lets the workers do their jobs, all at once. It returns what they did, and how many commands Redis executed in a
// second of that, 0 if it does not say.
func (b *bench) let(
	ctx context.Context, s step, keys contender.Keys,
) (results []worker.Result, commands float64, err error) {
	n, workers := s.contender.Shape.Of(b.flags.Processes, s.waiters)
	warmUp := b.flags.warmUp()
	if jvm := s.contender.JVM; jvm {
		warmUp = max(warmUp, leastOnJVM)
		if len(b.processes[jvm]) < n {
			warmUp = max(warmUp, firstOnJVM)
		}
	}
	processes, err := b.workers(ctx, s.contender.JVM, n)
	if err != nil {
		return nil, 0, err
	}
	job := worker.Job{Contender: s.contender.Name, Workload: s.workload, URL: b.server.URL, Prefix: keys.Prefix,
		Workers: workers, WarmUpMS: warmUp.Milliseconds(), ForMS: b.flags.For.Milliseconds(), DrainMS: drain.Milliseconds()}
	if err := each(processes, func(i int, p *fleet.Process) error {
		job := job
		job.Process = i
		return p.Prepare(job)
	}); err != nil {
		return nil, 0, err
	}
	if err := each(processes, func(_ int, p *fleet.Process) error { return p.Begin() }); err != nil {
		return nil, 0, err
	}
	overdue := time.AfterFunc(warmUp+b.flags.For+drain+patience, func() { fleet.CloseAll(processes) })
	defer overdue.Stop()
	var all errgroup.Group
	all.Go(func() error { commands = b.rate(ctx, warmUp); return nil })
	results = make([]worker.Result, n)
	err = each(processes, func(i int, p *fleet.Process) (err error) {
		results[i], err = p.Result()
		return err
	})
	_ = all.Wait()
	return results, commands, err
}

// workers returns that many worker processes.
func (b *bench) workers(ctx context.Context, jvm bool, n int) ([]*fleet.Process, error) {
	for len(b.processes[jvm]) < n {
		p, err := fleet.Start(ctx, b.commands[jvm])
		if err != nil {
			return nil, err
		}
		b.processes[jvm] = append(b.processes[jvm], p)
	}
	return b.processes[jvm][:n], nil
}

// rate returns how many commands Redis executes in a second while it is measured.
func (b *bench) rate(ctx context.Context, warmUp time.Duration) float64 {
	if !sleep(ctx, warmUp) {
		return 0
	}
	before, begun := b.server.Commands(ctx), time.Now()
	if !sleep(ctx, b.flags.For) {
		return 0
	}
	return float64(b.server.Commands(ctx)-before) / time.Since(begun).Seconds()
}

// sleep reports whether the time is over; false if the context ended before.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// each does something with all processes at once, and returns the first error.
func each(processes []*fleet.Process, do func(i int, p *fleet.Process) error) error {
	var all errgroup.Group
	for i, p := range processes {
		all.Go(func() error { return do(i, p) })
	}
	return all.Wait()
}
