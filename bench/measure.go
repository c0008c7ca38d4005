package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"golang.org/x/sync/errgroup"

	"stockapi/bench/contender"
	"stockapi/bench/report"
	"stockapi/bench/worker"
	"stockapi/internal/stock"
)

const (
	units    = 1_000_000_000 // in stock, more than anybody sells
	stockTTL = time.Hour     // whatever happens, nothing stays behind for longer

	// drain bounds the waits that outlast a measurement. Without it the longest waits would be missing from the
	// percentiles.
	drain = 10 * time.Second
	// patience bounds the time from then until a process has answered.
	patience = 15 * time.Second

	// A JVM compiles what runs often. Its first job gets time for that.
	firstOnJVM = 5 * time.Second
	leastOnJVM = time.Second
)

// A bench runs the measurements. Its workers stay for the whole run, as they would be in use: a new JVM is slow.
type bench struct {
	flags     *flags
	server    *server
	prefix    string              // of all keys of this run
	commands  map[bool][]string   // that start a worker, false: of this program; true: on the JVM
	processes map[bool][]*process // that were started so
	temp      string              // a directory to remove at the end, empty if there is none
}

// measure does one measurement.
func (b *bench) measure(ctx context.Context, s step) (report.Sample, error) {
	keys := contender.Settings{URL: b.server.url, Prefix: fmt.Sprintf("%s%d:", b.prefix, s.number)}
	defer b.clean(ctx, keys.Prefix)
	if err := stock.NewShelf(b.server.rdb).PutFor(ctx, keys.Product(), units, stockTTL); err != nil {
		return report.Sample{}, err
	}
	sample := report.Sample{Contender: s.contender.Name, Kind: s.contender.Kind, Workload: s.workload,
		Waiters: s.waiters, Round: s.round, Length: b.flags.For}
	results, commands, err := b.let(ctx, s, keys)
	if err != nil {
		b.end(s.contender.JVM)
		return sample, err
	}
	sample.Count(results, commands)
	if s.workload == worker.Hot {
		var left int64
		left, err = b.server.left(ctx, keys.Product())
		sample.Broken = report.Check(units, left, results)
	}
	return sample, err
}

// clean removes the keys of a measurement, also after the run was interrupted.
func (b *bench) clean(ctx context.Context, prefix string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	_ = b.server.clean(ctx, prefix)
}

// end ends the workers of a kind: they are busy, or dead. The next measurement starts others.
func (b *bench) end(jvm bool) {
	closeAll(b.processes[jvm])
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
	ctx context.Context, s step, keys contender.Settings,
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
	job := worker.Job{Contender: s.contender.Name, Workload: s.workload, Settings: keys, Workers: workers,
		WarmUpMS: warmUp.Milliseconds(), ForMS: b.flags.For.Milliseconds(), DrainMS: drain.Milliseconds()}
	if err := each(processes, func(i int, p *process) error {
		job := job
		job.Process = i
		return p.prepare(job)
	}); err != nil {
		return nil, 0, err
	}
	if err := each(processes, func(_ int, p *process) error { return p.begin() }); err != nil {
		return nil, 0, err
	}
	overdue := time.AfterFunc(warmUp+b.flags.For+drain+patience, func() { closeAll(processes) })
	defer overdue.Stop()
	var all errgroup.Group
	all.Go(func() error { commands = b.rate(ctx, warmUp); return nil })
	results = make([]worker.Result, n)
	err = each(processes, func(i int, p *process) (err error) {
		results[i], err = p.result()
		return err
	})
	_ = all.Wait()
	return results, commands, err
}

// workers returns that many worker processes.
func (b *bench) workers(ctx context.Context, jvm bool, n int) ([]*process, error) {
	for len(b.processes[jvm]) < n {
		p, err := start(ctx, b.commands[jvm])
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
	before, begun := b.server.commands(ctx), time.Now()
	if !sleep(ctx, b.flags.For) {
		return 0
	}
	return float64(b.server.commands(ctx)-before) / time.Since(begun).Seconds()
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
