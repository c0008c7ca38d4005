package main

import (
	"context"
	"fmt"
	"sync"
	"time"

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

// A bench is what measurements run on.
type bench struct {
	flags  *runFlags
	server *fleet.Server
	prefix string   // of all keys of this run
	self   []string // the command that starts this program
	jvm    []string // the command that starts a worker on the JVM
	jvms   []*fleet.Process
}

// measure does one measurement.
func (b *bench) measure(ctx context.Context, s step) (figures.Sample, error) {
	keys := contender.Keys{Prefix: fmt.Sprintf("%s%d:", b.prefix, s.number)}
	defer b.clean(ctx, keys.Prefix)
	if err := contender.PutStock(ctx, b.server.URL, keys, units, stockTTL); err != nil {
		return figures.Sample{}, err
	}
	processes, done, err := b.processes(ctx, s)
	if err != nil {
		return figures.Sample{}, err
	}
	sample, results, err := b.let(ctx, processes, s, keys)
	done(err)
	if err != nil || s.point.Workload != worker.Hot {
		return sample, err
	}
	left, err := contender.StockLeft(ctx, b.server.URL, keys)
	sample.Broken = figures.BooksOf(units, left, results).Check()
	return sample, err
}

// clean removes the keys of a measurement, also after the run was interrupted.
func (b *bench) clean(ctx context.Context, prefix string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	_ = b.server.Clean(ctx, prefix)
}

// processes returns those that a step needs, and what to do with them afterwards. Those on the JVM are kept for the
// whole run, as they would be in use: a new one is slow at first.
func (b *bench) processes(ctx context.Context, s step) (processes []*fleet.Process, done func(error), err error) {
	n, _ := s.contender.Shape.Of(s.point.Processes, s.point.Waiters)
	if s.contender.JVM {
		for len(b.jvms) < n && err == nil {
			err = add(ctx, b.jvm, &b.jvms)
		}
		return b.jvms[:min(n, len(b.jvms))], func(failed error) {
			if failed != nil {
				b.closeJVMs()
			}
		}, err
	}
	for len(processes) < n && err == nil {
		err = add(ctx, append(b.self, "worker"), &processes)
	}
	if err != nil {
		fleet.CloseAll(processes)
	}
	return processes, func(error) { fleet.CloseAll(processes) }, err
}

func add(ctx context.Context, command []string, processes *[]*fleet.Process) error {
	p, err := fleet.Start(ctx, command)
	if err == nil {
		*processes = append(*processes, p)
	}
	return err
}

func (b *bench) closeJVMs() {
	fleet.CloseAll(b.jvms)
	b.jvms = nil
}

// let lets the processes do their jobs, all at once.
func (b *bench) let(
	ctx context.Context, processes []*fleet.Process, s step, keys contender.Keys,
) (figures.Sample, []worker.Result, error) {
	warmUp := b.warmUp(s, processes)
	if err := each(processes, func(i int, p *fleet.Process) error {
		return p.Prepare(b.job(s, keys, i, warmUp))
	}); err != nil {
		return figures.Sample{}, nil, err
	}
	if err := each(processes, func(_ int, p *fleet.Process) error { return p.Begin() }); err != nil {
		return figures.Sample{}, nil, err
	}
	overdue := time.AfterFunc(warmUp+b.flags.For+drain+patience, func() { fleet.CloseAll(processes) })
	defer overdue.Stop()
	var commands map[string]float64
	var counting sync.WaitGroup
	counting.Go(func() { commands = b.commands(ctx, warmUp) })
	results := make([]worker.Result, len(processes))
	err := each(processes, func(i int, p *fleet.Process) (err error) {
		results[i], err = p.Result()
		return err
	})
	counting.Wait()
	return figures.Of(s.round, results, b.flags.For, commands), results, err
}

func (b *bench) job(s step, keys contender.Keys, process int, warmUp time.Duration) worker.Job {
	_, workers := s.contender.Shape.Of(s.point.Processes, s.point.Waiters)
	return worker.Job{Contender: s.contender.Name, Workload: s.point.Workload, URL: b.server.URL, Prefix: keys.Prefix,
		Process: process, Workers: workers, WarmUpMS: warmUp.Milliseconds(), ForMS: b.flags.For.Milliseconds(),
		DrainMS: drain.Milliseconds()}
}

func (b *bench) warmUp(s step, processes []*fleet.Process) time.Duration {
	warmUp := b.flags.warmUp()
	if !s.contender.JVM {
		return warmUp
	}
	for _, p := range processes {
		if p.Jobs() == 0 {
			return max(warmUp, firstOnJVM)
		}
	}
	return max(warmUp, leastOnJVM)
}

// commands returns the rates at which Redis executes commands while it is measured.
func (b *bench) commands(ctx context.Context, warmUp time.Duration) map[string]float64 {
	if !sleep(ctx, warmUp) {
		return nil
	}
	before := b.server.Count(ctx)
	if !sleep(ctx, b.flags.For) {
		return nil
	}
	return b.server.Count(ctx).PerSecond(before)
}

// sleep reports whether the time is over; false if the context ended before.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// each does something with all processes at once, and returns the first error.
func each(processes []*fleet.Process, do func(i int, p *fleet.Process) error) error {
	failed := make([]error, len(processes))
	var all sync.WaitGroup
	for i, p := range processes {
		all.Go(func() { failed[i] = do(i, p) })
	}
	all.Wait()
	for _, err := range failed {
		if err != nil {
			return err
		}
	}
	return nil
}
